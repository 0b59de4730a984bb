#include "runtime/comm/shared/host_reduce.h"

#include <algorithm>

#include "runtime/base/bf16.h"
#include "runtime/base/check.h"
#include "runtime/comm/reduction_functors.h"

namespace partita {
namespace {

// Elements reduced at a time: the partial result stays in the first cache, and an input is read before its place is
// written, which makes in-place reductions right.
constexpr int64_t kChunk = 1024;

template <typename T, typename Function>
void ReduceChunks(std::span<const void* const> inputs, int64_t count, T* to, Function function) {
  T partial[kChunk];
  for (int64_t begin = 0; begin < count; begin += kChunk) {
    const int64_t size = std::min(kChunk, count - begin);
    const auto input = [&](size_t rank) { return static_cast<const T*>(inputs[rank]) + begin; };
    std::copy_n(input(0), size, partial);
    for (size_t rank = 1; rank < inputs.size(); ++rank) {
      const T* const values = input(rank);
      for (int64_t i = 0; i < size; ++i) partial[i] = function(partial[i], values[i]);
    }
    std::copy_n(partial, size, to + begin);
  }
}

// Of two inputs, without a partial result; `to` may be one of them.
template <typename T, typename Function>
void ReducePair(const T* a, const T* b, int64_t count, T* to, Function function) {
#pragma GCC ivdep
  for (int64_t i = 0; i < count; ++i) to[i] = function(a[i], b[i]);
}

template <typename T, typename Function>
void ReduceAll(std::span<const void* const> inputs, int64_t count, T* to, Function function) {
  if (inputs.size() != 2) return ReduceChunks(inputs, count, to, function);
  ReducePair(static_cast<const T*>(inputs[0]), static_cast<const T*>(inputs[1]), count, to, function);
}

template <typename T>
void ReduceTyped(Reduction reduction, std::span<const void* const> inputs, int64_t count, void* to) {
  if (reduction == Reduction::kSum) {
    ReduceAll(inputs, count, static_cast<T*>(to), ReduceAdd());
  } else {
    ReduceAll(inputs, count, static_cast<T*>(to), ReduceMax());
  }
}

}  // namespace

void ReduceElements(Reduction reduction, DType dtype, std::span<const void* const> inputs, int64_t count, void* to) {
  switch (dtype) {
    case DType::kF32:
      return ReduceTyped<float>(reduction, inputs, count, to);
    case DType::kF64:
      return ReduceTyped<double>(reduction, inputs, count, to);
    case DType::kI32:
      return ReduceTyped<int32_t>(reduction, inputs, count, to);
    case DType::kBF16:
      return ReduceTyped<Bf16>(reduction, inputs, count, to);
    case DType::kU8:
      CHECK(dtype != DType::kU8);  // refused when enqueued
  }
}

}  // namespace partita
