// A stream of the host device: a thread that takes work in order and blocks when there is none.
#ifndef PARTITA_RUNTIME_DEVICE_HOST_HOST_STREAM_H_
#define PARTITA_RUNTIME_DEVICE_HOST_HOST_STREAM_H_

#include <pthread.h>

#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/device/host/host_device.h"
#include "runtime/device/host/host_node.h"
#include "runtime/device/stream.h"

namespace partita {

class HostStream : public Stream {
 public:
  // `index` is the stream's number in its device, `device` is only compared. `stays`: on the options' cores.
  // kResourceExhausted: no more threads.
  static absl::StatusOr<std::unique_ptr<HostStream>> Create(std::string name, int index, const HostDevice* device,
                                                            const HostDeviceOptions& options, bool stays);
  ~HostStream() override;

  const std::string& name() const override { return name_; }
  absl::Status Record(Event& event) override;
  absl::Status Wait(Event& event) override;
  absl::Status Copy(void* to, const void* from, int64_t bytes) override;
  absl::Status CopyStrided(const StridedCopy& copy) override;
  absl::Status Zero(void* to, int64_t bytes) override;
  absl::Status Synchronize() override;
  void Tag(int32_t node, const std::string&) override { tag_ = node; }
  using Stream::Tag;

  // Runs `task` in the order of the stream, on its thread. Its argument must stay valid until it has run; for a
  // captured task until the captured step is destroyed. kInvalidArgument: no function.
  absl::Status Enqueue(HostTask task);

  // True between BeginCapture and EndCapture: enqueued work will run once per replay, not once.
  bool capturing() const { return capture_ != nullptr; }

 private:
  friend class HostDevice;
  friend class HostCapturedStep;

  // A piece of work in the queue: one node, or a stream's part of a captured step.
  struct Item {
    HostNode node;
    std::shared_ptr<Signal> signal;  // keeps the signal of a record or wait alive
    HostCapturedStep* step = nullptr;
    int part = 0;
  };

  HostStream(std::string name, int index, const HostDevice* device, const HostDeviceOptions& options);
  absl::Status Start(std::span<const int> cores);
  absl::Status Add(HostNode node);
  void Push(Item item);
  void Loop();
  void RunItem(const Item& item);
  void RunTask(const HostNode& node);

  const std::string name_;
  const HostDevice* const device_;
  [[maybe_unused]] const int threads_;
  const int64_t stack_bytes_;
  const SeededDelay delay_;

  // Of the enqueuing thread.
  int32_t tag_ = -1;
  HostCapturedStep* capture_ = nullptr;
  int capture_part_ = 0;

  // Of the stream's thread.
  std::vector<Item> work_;
  bool failed_ = false;  // error_ is set
  uint64_t tasks_run_ = 0;

  std::mutex mutex_;
  std::condition_variable work_came_;
  std::condition_variable work_done_;
  std::vector<Item> queue_;  // swapped with work_, so that neither allocates for long
  int64_t pushed_ = 0;
  int64_t done_ = 0;
  bool stop_ = false;
  absl::Status error_;  // the first since the last Synchronize; the tasks behind it are skipped

  pthread_t thread_{};
  bool started_ = false;
};

}  // namespace partita

#endif  // PARTITA_RUNTIME_DEVICE_HOST_HOST_STREAM_H_
