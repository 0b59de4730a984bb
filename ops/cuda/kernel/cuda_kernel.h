// The parts of a GPU kernel, for authors of kernels.
//
// A factory looks at a node and refuses with a reason, or says how much workspace it needs, whether it is
// deterministic, and how to bind the node to addresses. Binding gives a function that enqueues the work on a stream and
// returns at once; it is called while a step is captured, never during its replay. No factory of an own kernel touches
// a device.
#ifndef PARTITA_OPS_CUDA_KERNEL_CUDA_KERNEL_H_
#define PARTITA_OPS_CUDA_KERNEL_CUDA_KERNEL_H_

#include <algorithm>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "ops/cuda/kernel/finish_counters.h"
#include "ops/cuda/launch/launch.h"
#include "ops/cuda/launch/reduction_sizes.h"
#include "ops/values/node_geometry.h"
#include "runtime/base/status.h"
#include "runtime/exec/kernel.h"

namespace partita {

using CudaEnqueue = std::function<absl::Status(CudaQueue)>;

struct PreparedCudaKernel {
  int64_t workspace_bytes = 0;
  bool deterministic = true;
  std::function<absl::StatusOr<CudaEnqueue>(const KernelArguments&)> bind;
  std::function<absl::Status(uint64_t)> explain = nullptr;  // Kernel::Fault; null: it leaves no word
  bool workspace_estimated = false;                         // at most that, where there is no GPU to ask
  int library_launches = 0;                                 // of a library's kernel: its call and what we add; else 0
  std::function<std::string()> engine = nullptr;            // KernelDetails::engine; null: nothing is known of one
  std::string remark = "";                                  // for KernelChoice::remark
};

// Addresses of a launch; null where an input is absent or empty.
inline const void* In(const KernelArguments& arguments, size_t i) {
  return i < arguments.inputs.size() ? arguments.inputs[i] : nullptr;
}
template <typename T>
const T* In(const KernelArguments& arguments, size_t i) {
  return static_cast<const T*>(In(arguments, i));
}
inline void* Out(const KernelArguments& arguments, size_t i) { return arguments.outputs[i]; }

// What a queue refused is the queue's to say: its error goes before this one.
inline absl::Status LaunchStatus(LaunchError error) {
  if (error == LaunchError::kNone) return absl::OkStatus();
  if (error == LaunchError::kUnknownDType) return Internal("a kernel was launched on a dtype that it does not know");
  return Unavailable("the stream takes no more work");
}

// A kernel of our own from launch(arguments, queue), which returns a LaunchError.
template <typename F>
PreparedCudaKernel OwnKernel(F launch, int64_t workspace_bytes = 0) {
  PreparedCudaKernel kernel;
  kernel.workspace_bytes = workspace_bytes;
  kernel.bind = [launch](const KernelArguments& arguments) -> absl::StatusOr<CudaEnqueue> {
    return CudaEnqueue([launch, arguments](CudaQueue queue) { return LaunchStatus(launch(arguments, queue)); });
  };
  return kernel;
}

// One that adds up in blocks: launch(arguments, scratch, queue).
template <typename F>
PreparedCudaKernel OwnSummingKernel(F launch, int64_t workspace_bytes, int64_t counters) {
  PreparedCudaKernel kernel;
  kernel.workspace_bytes = workspace_bytes;
  kernel.bind = [launch, counters](const KernelArguments& arguments) -> absl::StatusOr<CudaEnqueue> {
    ASSIGN_OR_RETURN(const std::shared_ptr<const FinishCounters> held, FinishCounters::Reserve(counters));
    return CudaEnqueue([launch, arguments, held](CudaQueue queue) {
      return LaunchStatus(launch(arguments, SumScratch{arguments.workspace, held->first()}, queue));
    });
  };
  return kernel;
}

inline absl::Status RequireFloating(DType dtype) {
  if (IsFloating(dtype)) return absl::OkStatus();
  return InvalidArgument("dtype is {}, allowed are f32, f64 and bf16", Name(dtype));
}

inline absl::Status RequireWide(const LocalNode& node) {
  const auto narrow = [](const std::optional<LocalTensor>& tensor) {
    return tensor.has_value() && tensor->dtype == DType::kBF16;
  };
  if (std::ranges::none_of(node.inputs, narrow) && std::ranges::none_of(node.outputs, narrow)) {
    return RequireFloating(node.outputs[0].dtype);
  }
  return InvalidArgument("dtype is bf16, allowed are f32 and f64");
}

// The same with a dtype: launch(arguments, dtype, queue).
template <typename F>
PreparedCudaKernel OwnKernelOf(DType dtype, F launch, int64_t workspace_bytes = 0) {
  return OwnKernel([launch, dtype](const KernelArguments& a, CudaQueue queue) { return launch(a, dtype, queue); },
                   workspace_bytes);
}

// Of the first output's dtype; refuses what is not a float.
template <typename F>
absl::StatusOr<PreparedCudaKernel> OwnFloatingKernel(const LocalNode& node, F launch, int64_t workspace_bytes = 0) {
  RETURN_IF_ERROR(RequireFloating(node.outputs[0].dtype));
  return OwnKernelOf(node.outputs[0].dtype, std::move(launch), workspace_bytes);
}

// Of ops that compute in the type that they are given: refuses bf16 as well.
template <typename F>
absl::StatusOr<PreparedCudaKernel> OwnWideKernel(const LocalNode& node, F launch, int64_t workspace_bytes = 0) {
  RETURN_IF_ERROR(RequireWide(node));
  return OwnKernelOf(node.outputs[0].dtype, std::move(launch), workspace_bytes);
}

// Of the first input's dtype, where results are sums of another.
template <typename F>
absl::StatusOr<PreparedCudaKernel> OwnKernelOfElements(const LocalNode& node, F launch, int64_t workspace_bytes = 0) {
  RETURN_IF_ERROR(RequireFloating(Input(node, 0).dtype));
  return OwnKernelOf(Input(node, 0).dtype, std::move(launch), workspace_bytes);
}

}  // namespace partita

#endif  // PARTITA_OPS_CUDA_KERNEL_CUDA_KERNEL_H_
