// The host as a device that is really asynchronous: each stream is a thread, so a missing wait is a real race that a
// thread sanitizer sees, and that seeded delays make likely to show as a wrong result.
//
// OpenMP threads that spin for long at a barrier take the cores from the other streams. The process should say before
// libgomp starts that they spin for a short time only (the tools do, by running themselves again).
#ifndef PARTITA_RUNTIME_DEVICE_HOST_HOST_DEVICE_H_
#define PARTITA_RUNTIME_DEVICE_HOST_HOST_DEVICE_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "runtime/device/device.h"
#include "runtime/device/seeded_delay.h"

namespace partita {

struct HostDeviceOptions {
  int threads = 1;  // OpenMP threads of the tasks of one stream

  DelayOptions delay = {};  // of the start of each task

  int64_t stack_bytes = 0;  // of a stream's thread; 0: what the system gives

  // Where the threads of streams of a raised priority stay, those that OpenMP starts for them too: numbers of cores
  // that the process may use. Empty: wherever the system puts them.
  std::vector<int> cores = {};

  bool shares_arenas = false;  // other processes of the user may map those that are not small (shared_arena.h)

  // Called with the first error of a replay, on the thread of the stream where it occurred, before the replay has
  // ended. Here the caller can release peers that would wait for this device forever. Must not wait for any stream.
  std::function<void(const absl::Status&)> on_failure = nullptr;
};

class HostCapturedStep;

class HostDevice : public Device {
 public:
  explicit HostDevice(HostDeviceOptions options = {}, std::string name = "host");
  ~HostDevice() override;

  const std::string& name() const override { return name_; }
  bool host_addressable() const override { return true; }
  absl::StatusOr<std::unique_ptr<Stream>> CreateStream(std::string name, StreamPriority priority) override;
  using Device::CreateStream;
  absl::StatusOr<std::unique_ptr<Event>> CreateEvent() override;
  absl::StatusOr<std::unique_ptr<Arena>> Allocate(int64_t bytes) override;
  absl::StatusOr<std::unique_ptr<Arena>> AllocateHost(int64_t bytes) override { return Allocate(bytes); }
  absl::StatusOr<DeviceMemory> Memory() override;
  absl::Status BeginCapture(std::span<Stream* const> streams) override;
  absl::StatusOr<std::unique_ptr<CapturedStep>> EndCapture() override;

 private:
  const HostDeviceOptions options_;
  const std::string name_;
  int streams_created_ = 0;
  std::unique_ptr<HostCapturedStep> capture_;  // not null between BeginCapture and EndCapture
};

}  // namespace partita

#endif  // PARTITA_RUNTIME_DEVICE_HOST_HOST_DEVICE_H_
