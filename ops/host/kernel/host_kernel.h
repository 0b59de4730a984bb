// The parts of a host kernel, for authors of kernels.
//
// A factory looks at a node and refuses with a reason what it cannot compute, or says how much workspace it needs and
// how to bind the node to addresses; of what it computes, but is likely to be slow at, it says so too. Binding gives a
// computation, which the kernel's stream calls once a step; a computation allocates nothing.
#ifndef PARTITA_OPS_HOST_KERNEL_HOST_KERNEL_H_
#define PARTITA_OPS_HOST_KERNEL_HOST_KERNEL_H_

#include <algorithm>
#include <functional>
#include <type_traits>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "ops/values/node_geometry.h"
#include "runtime/base/status.h"
#include "runtime/exec/kernel.h"

namespace partita {

using Computation = std::function<absl::Status()>;

struct PreparedKernel {
  int64_t workspace_bytes = 0;
  std::function<absl::StatusOr<Computation>(const KernelArguments&)> bind;
  bool widened = false;  // computes a bf16 node in f32 (ops/host/kernel/widened.h)
  // Not OK: why kernels behind it in the list are likely to be faster. It is taken where it was measured alone.
  absl::Status worthwhile = absl::OkStatus();
};

using HostKernelFactory = absl::StatusOr<PreparedKernel> (*)(const LocalNode& node);

// Of bf16 a kernel may make something itself, or leave it to kernels behind it that are faster at it; any other
// computes it in f32 (ops/host/kernel/widened.h).
enum class Bf16Nodes : uint8_t { kWidened, kTaken, kRefused };

template <typename T>
const T* In(const KernelArguments& arguments, size_t i) {
  return i < arguments.inputs.size() ? static_cast<const T*>(arguments.inputs[i]) : nullptr;
}
template <typename T>
T* Out(const KernelArguments& arguments, size_t i) {
  return static_cast<T*>(arguments.outputs[i]);
}
// The workspace from `offset` bytes on.
template <typename T>
T* Scratch(const KernelArguments& arguments, int64_t offset = 0) {
  return reinterpret_cast<T*>(static_cast<char*>(arguments.workspace) + offset);
}

// A kernel from `compute(arguments)`, which returns nothing or a Status.
template <typename F>
PreparedKernel Prepared(F compute, int64_t workspace_bytes = 0) {
  return {workspace_bytes,
          [compute = std::move(compute)](const KernelArguments& arguments) -> absl::StatusOr<Computation> {
            return Computation([compute, arguments]() -> absl::Status {
              if constexpr (std::is_void_v<decltype(compute(arguments))>) {
                compute(arguments);
                return absl::OkStatus();
              } else {
                return compute(arguments);
              }
            });
          }};
}

// A kernel from compute.operator()<T>(arguments) with T the C++ type of `dtype`; refuses what is not a float.
template <typename F>
absl::StatusOr<PreparedKernel> PreparedFloating(DType dtype, F compute, int64_t workspace_bytes = 0) {
  if (dtype == DType::kF32) {
    return Prepared([compute](const KernelArguments& a) { return compute.template operator()<float>(a); },
                    workspace_bytes);
  }
  if (dtype == DType::kF64) {
    return Prepared([compute](const KernelArguments& a) { return compute.template operator()<double>(a); },
                    workspace_bytes);
  }
  return InvalidArgument("dtype is {}, allowed are f32 and f64", Name(dtype));
}

// A kernel that runs one, then the other, in the same workspace.
inline PreparedKernel InTurn(const PreparedKernel& first, const PreparedKernel& second) {
  const auto bind = [first, second](const KernelArguments& arguments) -> absl::StatusOr<Computation> {
    ASSIGN_OR_RETURN(const Computation before, first.bind(arguments));
    ASSIGN_OR_RETURN(const Computation after, second.bind(arguments));
    return Computation([before, after]() -> absl::Status {
      RETURN_IF_ERROR(before());
      return after();
    });
  };
  return {std::max(first.workspace_bytes, second.workspace_bytes), bind};
}

inline absl::Status RequireF32(DType dtype) {
  if (dtype == DType::kF32) return absl::OkStatus();
  return InvalidArgument("dtype is {}, allowed is f32", Name(dtype));
}

}  // namespace partita

#endif  // PARTITA_OPS_HOST_KERNEL_HOST_KERNEL_H_
