// A stream of a GPU.
//
// Libraries that enqueue by themselves (cuBLASLt, cuDNN, NCCL) get the stream from BeginWork; own kernels are launched
// by Launch. While the stream is captured both become part of the step. Outside of captures, errors of the work
// itself appear at Synchronize, and end the use of the GPU.
#ifndef PARTITA_RUNTIME_DEVICE_CUDA_CUDA_STREAM_H_
#define PARTITA_RUNTIME_DEVICE_CUDA_CUDA_STREAM_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/device/cuda/cuda_context.h"
#include "runtime/device/cuda/cuda_event.h"
#include "runtime/device/seeded_delay.h"
#include "runtime/device/stream.h"

namespace partita {

class CudaCapturedStep;

class CudaStream : public Stream {
 public:
  static absl::StatusOr<std::unique_ptr<CudaStream>> Create(CudaContext* context, std::string name, int priority,
                                                            const SeededDelay& delay = SeededDelay({}, 0));
  ~CudaStream() override;

  const std::string& name() const override { return name_; }
  absl::Status Record(Event& event) override;
  absl::Status Wait(Event& event) override;
  absl::Status Copy(void* to, const void* from, int64_t bytes) override;
  absl::Status CopyStrided(const StridedCopy& copy) override;
  absl::Status Zero(void* to, int64_t bytes) override;
  absl::Status Synchronize() override;
  void Tag(int32_t node, const std::string& name) override;
  using Stream::Tag;

  // Launches a __global__ function: `arguments` are the addresses of its arguments, read during this call.
  absl::Status Launch(const void* function, dim3 grid, dim3 block, void** arguments, size_t shared_bytes = 0);

  // Launches one thread of `function`, of `pointers`, behind what was enqueued so far. Nothing waits for it: an event
  // that is recorded next is reached before it. While the stream is captured, it is launched when the stream next waits
  // or works, and TakeLater may fetch it before; its pointers, or nothing.
  absl::Status LaunchLater(const void* function, std::vector<void*> pointers);
  std::vector<void*> TakeLater(const void* function);

  // The stream for a library that enqueues work by itself, right now; ask again for each piece of work.
  absl::StatusOr<cudaStream_t> BeginWork();

  // Calls run(argument) on a thread of the runtime, in the order of the stream. For tests and diagnoses: it stalls the
  // GPU, and `run` may not call CUDA.
  absl::Status CallOnHost(void (*run)(void*), void* argument);

  // Calls `run` each time the work enqueued here is started: now, or at each replay of the step that is captured, on
  // the thread that launches it. Must not call CUDA.
  void OnEachRun(std::function<void()> run);

  // Between these two nothing can be enqueued here (kFailedPrecondition): a collective waits for its peers' calls,
  // which the same thread is about to make, and what comes behind it must not come before it.
  void Hold() { held_ = true; }
  void Release() { held_ = false; }

  CudaContext& context() const { return *context_; }
  bool capturing() const { return capture_ != nullptr; }

 private:
  friend class CudaDevice;
  friend class CudaCapturedStep;

  CudaStream(CudaContext* context, std::string name, cudaStream_t stream, const SeededDelay& delay)
      : context_(context), name_(std::move(name)), stream_(stream), delay_(delay) {}

  // OK, or the error with the stream's name.
  absl::Status Check(cudaError_t error, const char* call);
  absl::Status Activate();
  absl::Status Use();
  absl::Status Delay();
  absl::Status LaunchPostponed();
  uint64_t capture_id() const;

  CudaContext* const context_;
  const std::string name_;
  cudaStream_t const stream_;
  const SeededDelay delay_;
  uint64_t tasks_ = 0;  // enqueued so far
  int32_t tag_ = -1;
  bool held_ = false;
  bool named_ = false;  // a range of the profiler is open
  CudaCapturedStep* capture_ = nullptr;
  const void* postponed_ = nullptr;  // of LaunchLater; null: nothing
  std::vector<void*> postponed_pointers_;
  bool used_ = false;  // has work that a captured step does not know of
  // The end of a step that was launched on another stream, and that stream; work comes after it.
  cudaEvent_t behind_ = nullptr;
  const CudaStream* behind_on_ = nullptr;
};

}  // namespace partita

#endif  // PARTITA_RUNTIME_DEVICE_CUDA_CUDA_STREAM_H_
