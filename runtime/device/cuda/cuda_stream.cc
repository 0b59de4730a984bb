#include "runtime/device/cuda/cuda_stream.h"

#include <fmt/format.h>
#include <nvtx3/nvToolsExt.h>

#include <utility>

#include "runtime/base/status.h"
#include "runtime/device/cuda/cuda_captured_step.h"
#include "runtime/device/cuda/kernels/delay_kernel.h"
#include "runtime/device/cuda/kernels/strided_copy_kernel.h"

namespace partita {
namespace {

absl::StatusOr<CudaEvent*> CudaEventOf(Event& event, const std::string& stream) {
  if (auto* const cuda_event = dynamic_cast<CudaEvent*>(&event)) return cuda_event;
  return InvalidArgument("stream '{}': an event of another kind of device", stream);
}

}  // namespace

absl::StatusOr<std::unique_ptr<CudaStream>> CudaStream::Create(CudaContext* context, std::string name, int priority,
                                                               const SeededDelay& delay) {
  RETURN_IF_ERROR(context->Activate());
  cudaStream_t stream = nullptr;
  RETURN_IF_ERROR(context->Check(context->api().cudaStreamCreateWithPriority(&stream, cudaStreamNonBlocking, priority),
                                 "cudaStreamCreateWithPriority", fmt::format("stream '{}'", name)));
  return std::unique_ptr<CudaStream>(new CudaStream(context, std::move(name), stream, delay));
}

CudaStream::~CudaStream() {
  Tag(-1, {});
  context_->ActivateToFree();
  context_->api().cudaStreamSynchronize(stream_);
  context_->api().cudaStreamDestroy(stream_);
}

absl::Status CudaStream::Check(cudaError_t error, const char* call) {
  if (error == cudaSuccess) return absl::OkStatus();
  return context_->Check(error, call, fmt::format("stream '{}'", name_));
}

uint64_t CudaStream::capture_id() const { return capturing() ? capture_->id() : 0; }

// Before every enqueuing call: the GPU is the thread's.
absl::Status CudaStream::Activate() {
  if (held_) {
    return absl::FailedPreconditionError(
        fmt::format("stream '{}': its last collective waits for calls of other ranks", name_));
  }
  RETURN_IF_ERROR(context_->Activate());
  used_ = used_ || !capturing();
  return absl::OkStatus();
}

// Before work, and whatever says that work has ended: the stream stands behind the last step, too.
absl::Status CudaStream::Use() {
  RETURN_IF_ERROR(Activate());
  if (capturing() || behind_ == nullptr) return absl::OkStatus();
  RETURN_IF_ERROR(Check(context_->api().cudaStreamWaitEvent(stream_, behind_, 0), "cudaStreamWaitEvent"));
  behind_ = nullptr;
  return absl::OkStatus();
}

void CudaStream::OnEachRun(std::function<void()> run) {
  if (!capturing()) return run();
  capture_->OnLaunch(std::move(run));
}

absl::StatusOr<cudaStream_t> CudaStream::BeginWork() {
  RETURN_IF_ERROR(Use());
  RETURN_IF_ERROR(LaunchPostponed());
  if (capturing()) RETURN_IF_ERROR(capture_->BeginTag(*this, tag_));
  RETURN_IF_ERROR(Delay());
  return stream_;
}

absl::Status CudaStream::Delay() {
  int microseconds = delay_.Microseconds(tasks_++, 0);
  if (microseconds == 0) return absl::OkStatus();
  void* arguments[] = {&microseconds};
  return Check(context_->api().cudaLaunchKernel(DelayKernel(), {1}, {1}, arguments, 0, stream_), "cudaLaunchKernel");
}

absl::Status CudaStream::Record(Event& event) {
  ASSIGN_OR_RETURN(CudaEvent* const cuda_event, CudaEventOf(event, name_));
  RETURN_IF_ERROR(Use());
  RETURN_IF_ERROR(Check(context_->api().cudaEventRecord(cuda_event->event_, stream_), "cudaEventRecord"));
  cuda_event->capture_ = capture_id();
  return absl::OkStatus();
}

absl::Status CudaStream::Wait(Event& event) {
  ASSIGN_OR_RETURN(CudaEvent* const cuda_event, CudaEventOf(event, name_));
  if (cuda_event->capture_ != capture_id()) {
    return InvalidArgument("stream '{}': waits {} for an event that was not recorded there before", name_,
                           capturing() ? "inside a capture" : "outside of captures");
  }
  RETURN_IF_ERROR(Activate());
  RETURN_IF_ERROR(LaunchPostponed());
  return Check(context_->api().cudaStreamWaitEvent(stream_, cuda_event->event_, 0), "cudaStreamWaitEvent");
}

absl::Status CudaStream::Copy(void* to, const void* from, int64_t bytes) {
  if (bytes < 0 || (bytes > 0 && (to == nullptr || from == nullptr))) {
    return InvalidArgument("stream '{}': cannot copy {} bytes from {} to {}", name_, bytes, from, to);
  }
  if (bytes == 0) return absl::OkStatus();
  ASSIGN_OR_RETURN(cudaStream_t const stream, BeginWork());
  return Check(context_->api().cudaMemcpyAsync(to, from, static_cast<size_t>(bytes), cudaMemcpyDefault, stream),
               "cudaMemcpyAsync");
}

absl::Status CudaStream::CopyStrided(const StridedCopy& copy) {
  if (copy.run_bytes == 0) return absl::OkStatus();
  if (copy.dimensions.empty()) return Copy(copy.to, copy.from, copy.run_bytes);
  StridedCopyArguments arguments;
  if (!MakeStridedCopyArguments(copy, arguments)) {
    return InvalidArgument("stream '{}': cannot copy runs over {} dimensions, at most {}", name_,
                           copy.dimensions.size(), StridedCopyArguments::kDimensions);
  }
  void* pointers[] = {&arguments};
  return Launch(StridedCopyKernel(arguments), {arguments.blocks()}, {StridedCopyArguments::kThreads}, pointers);
}

absl::Status CudaStream::Zero(void* to, int64_t bytes) {
  if (bytes < 0 || (bytes > 0 && to == nullptr)) {
    return InvalidArgument("stream '{}': cannot zero {} bytes at {}", name_, bytes, to);
  }
  if (bytes == 0) return absl::OkStatus();
  ASSIGN_OR_RETURN(cudaStream_t const stream, BeginWork());
  return Check(context_->api().cudaMemsetAsync(to, 0, static_cast<size_t>(bytes), stream), "cudaMemsetAsync");
}

absl::Status CudaStream::Launch(const void* function, dim3 grid, dim3 block, void** arguments, size_t shared_bytes) {
  ASSIGN_OR_RETURN(cudaStream_t const stream, BeginWork());
  return Check(context_->api().cudaLaunchKernel(function, grid, block, arguments, shared_bytes, stream),
               "cudaLaunchKernel");
}

absl::Status CudaStream::LaunchLater(const void* function, std::vector<void*> pointers) {
  RETURN_IF_ERROR(LaunchPostponed());
  postponed_ = function;
  postponed_pointers_ = std::move(pointers);
  return capturing() ? absl::OkStatus() : LaunchPostponed();
}

std::vector<void*> CudaStream::TakeLater(const void* function) {
  if (postponed_ != function) return {};
  postponed_ = nullptr;
  return std::exchange(postponed_pointers_, {});
}

// Behind Use.
absl::Status CudaStream::LaunchPostponed() {
  const void* const function = std::exchange(postponed_, nullptr);
  if (function == nullptr) return absl::OkStatus();
  std::vector<void*> arguments;
  for (void*& pointer : postponed_pointers_) arguments.push_back(&pointer);
  return Check(context_->api().cudaLaunchKernel(function, {1}, {1}, arguments.data(), 0, stream_), "cudaLaunchKernel");
}

absl::Status CudaStream::CallOnHost(void (*run)(void*), void* argument) {
  ASSIGN_OR_RETURN(cudaStream_t const stream, BeginWork());
  return Check(context_->api().cudaLaunchHostFunc(stream, run, argument), "cudaLaunchHostFunc");
}

absl::Status CudaStream::Synchronize() {
  if (capturing()) return absl::FailedPreconditionError(fmt::format("stream '{}' is being captured", name_));
  RETURN_IF_ERROR(Use());
  return Check(context_->api().cudaStreamSynchronize(stream_), "cudaStreamSynchronize");
}

void CudaStream::Tag(int32_t node, const std::string& name) {
  if (capturing()) capture_->EndTag();
  if (named_) nvtxRangePop();
  named_ = node >= 0 && !name.empty();
  if (named_) nvtxRangePushA(name.c_str());
  tag_ = node;
}

}  // namespace partita
