// What the suite needs to know of a device beyond its interface: how to make one, and how to run and see things on it.
#ifndef PARTITA_TESTS_CONFORMANCE_DEVICE_BACKEND_H_
#define PARTITA_TESTS_CONFORMANCE_DEVICE_BACKEND_H_

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "runtime/device/device.h"

namespace partita {

class DeviceBackend {
 public:
  virtual ~DeviceBackend() = default;
  virtual std::string name() const = 0;
  virtual std::unique_ptr<Device> CreateDevice() const = 0;

  // Enqueues a host function in the order of the stream; `work` must outlive stream and step. It may not wait for a
  // host function of another stream: some devices run all of them on one thread.
  virtual absl::Status Enqueue(Stream& stream, std::function<absl::Status()>& work) const = 0;

  // Work that takes this time and waits for nothing: other streams continue, even if all host functions share a thread.
  virtual absl::Status Delay(Stream& stream, std::chrono::microseconds time) const = 0;

  // Whether a host function that returns an error fails the stream's work; a GPU's runtime knows no such thing.
  virtual bool reports_failed_work() const { return true; }

  // Between device memory and the test; streams that use it must be idle.
  virtual void Upload(void* to, const void* from, int64_t bytes) const = 0;
  virtual void Download(void* to, const void* from, int64_t bytes) const = 0;
};

// Every backend of this build, and those of its modes that change when things run. Never freed.
const std::vector<const DeviceBackend*>& DeviceBackends();

}  // namespace partita

#endif  // PARTITA_TESTS_CONFORMANCE_DEVICE_BACKEND_H_
