// What the fake runtime does for the reduction kernels: the same functors, in a loop.
#ifndef PARTITA_TESTS_RUNTIME_COMM_CUDA_LOCAL_FAKE_REDUCE_H_
#define PARTITA_TESTS_RUNTIME_COMM_CUDA_LOCAL_FAKE_REDUCE_H_

#include "runtime/comm/cuda_local/reduce_kernel.h"
#include "runtime/comm/reduction_functors.h"
#include "tests/runtime/device/cuda/fake_cuda.h"

namespace partita {

template <typename T, typename Function>
std::function<void()> FakeReduce(dim3, dim3, void** arguments) {
  const auto a = *static_cast<const ReduceArguments*>(arguments[0]);
  return [a] {
    for (int64_t i = 0; i < a.count; ++i) {
      T partial = static_cast<const T*>(a.in[0])[i];
      for (int rank = 1; rank < a.inputs; ++rank) partial = Function()(partial, static_cast<const T*>(a.in[rank])[i]);
      for (int rank = 0; rank < a.outputs; ++rank) static_cast<T*>(a.out[rank])[i] = partial;
    }
  };
}

inline void RegisterReduceKernels(FakeCuda& fake) {
  fake.Register(ReduceKernel(Reduction::kSum, DType::kF32), FakeReduce<float, ReduceAdd>);
  fake.Register(ReduceKernel(Reduction::kMax, DType::kF32), FakeReduce<float, ReduceMax>);
  fake.Register(ReduceKernel(Reduction::kSum, DType::kF64), FakeReduce<double, ReduceAdd>);
  fake.Register(ReduceKernel(Reduction::kMax, DType::kF64), FakeReduce<double, ReduceMax>);
  fake.Register(ReduceKernel(Reduction::kSum, DType::kI32), FakeReduce<int32_t, ReduceAdd>);
  fake.Register(ReduceKernel(Reduction::kMax, DType::kI32), FakeReduce<int32_t, ReduceMax>);
  fake.Register(ReduceKernel(Reduction::kSum, DType::kBF16), FakeReduce<Bf16, ReduceAdd>);
  fake.Register(ReduceKernel(Reduction::kMax, DType::kBF16), FakeReduce<Bf16, ReduceMax>);
}

}  // namespace partita

#endif  // PARTITA_TESTS_RUNTIME_COMM_CUDA_LOCAL_FAKE_REDUCE_H_
