// Loops over elements: 16 bytes per thread where the addresses allow it. For .cu files.
#ifndef PARTITA_OPS_CUDA_LOOPS_ELEMENTWISE_H_
#define PARTITA_OPS_CUDA_LOOPS_ELEMENTWISE_H_

#include <cstdint>

#include "graph/value/dtype.h"
#include "ops/cuda/loops/divisor.h"
#include "ops/cuda/loops/loops.h"
#include "ops/functors/geometry.h"
#include "runtime/base/bf16.h"

namespace partita {

// Calls f.operator()<T>() with the C++ type of a floating dtype that is computed in.
template <typename F>
LaunchError WithWide(DType dtype, const F& f) {
  if (dtype == DType::kF32) return f.template operator()<float>();
  if (dtype == DType::kF64) return f.template operator()<double>();
  return kInvalidLaunch;
}

// The same of any floating dtype; f computes in Compute<T>.
template <typename F>
LaunchError WithFloating(DType dtype, const F& f) {
  return dtype == DType::kBF16 ? f.template operator()<Bf16>() : WithWide(dtype, f);
}

template <typename F>
LaunchError WithType(DType dtype, const F& f) {
  if (dtype == DType::kI32) return f.template operator()<int32_t>();
  if (dtype == DType::kU8) return f.template operator()<uint8_t>();
  return WithFloating(dtype, f);
}

// As many elements as one memory access moves.
template <typename T>
inline constexpr int kPackWidth = 16 / sizeof(T);

template <typename T>
struct alignas(16) Pack {
  T at[kPackWidth<T>];
};

PARTITA_HOST_DEVICE inline bool IsPackAligned(const void* address) {
  return reinterpret_cast<uintptr_t>(address) % 16 == 0;
}

// Where an element lies in a tensor of rows.
struct RowChannel {
  int64_t row, channel;
};

// f(place, values of the inputs, results) for every element. Outputs may lie where inputs do.
template <typename T, int kInputs, int kOutputs, typename F>
struct Elementwise {
  const T* in[kInputs];
  T* out[kOutputs];
  int64_t elements;
  Divisor channels;
  bool packed;
  F f;

  // The i-th pack.
  PARTITA_HOST_DEVICE void operator()(int64_t i) const {
    constexpr int kWidth = kPackWidth<T>;
    const int64_t begin = i * kWidth;
    const Divisor::Divided first = channels(begin);
    RowChannel place{first.quotient, first.rest};
    if (packed && begin + kWidth <= elements) return All(begin, place);
    for (int64_t e = begin; e < elements && e < begin + kWidth; ++e) {
      Compute<T> values[kInputs], results[kOutputs];
      for (int k = 0; k < kInputs; ++k) values[k] = static_cast<Compute<T>>(in[k][e]);
      f(place, values, results);
      for (int k = 0; k < kOutputs; ++k) out[k][e] = static_cast<T>(results[k]);
      Advance(place);
    }
  }

 private:
  PARTITA_HOST_DEVICE void All(int64_t begin, RowChannel place) const {
    Pack<T> x[kInputs], y[kOutputs];
    for (int k = 0; k < kInputs; ++k) x[k] = *reinterpret_cast<const Pack<T>*>(in[k] + begin);
    for (int w = 0; w < kPackWidth<T>; ++w) {
      Compute<T> values[kInputs], results[kOutputs];
      for (int k = 0; k < kInputs; ++k) values[k] = static_cast<Compute<T>>(x[k].at[w]);
      f(place, values, results);
      for (int k = 0; k < kOutputs; ++k) y[k].at[w] = static_cast<T>(results[k]);
      Advance(place);
    }
    for (int k = 0; k < kOutputs; ++k) *reinterpret_cast<Pack<T>*>(out[k] + begin) = y[k];
  }

  PARTITA_HOST_DEVICE void Advance(RowChannel& place) const {
    if (++place.channel < channels.by()) return;
    place.channel = 0;
    ++place.row;
  }
};

template <typename T, int kInputs, int kOutputs, typename F>
LaunchError ForElements(const T* const (&in)[kInputs], T* const (&out)[kOutputs], ChannelRows shape, const F& f,
                        CudaQueue queue) {
  if (shape.elements() == 0) return kLaunched;
  Elementwise<T, kInputs, kOutputs, F> body{{}, {}, shape.elements(), Divisor(shape.channels), true, f};
  for (int k = 0; k < kInputs; ++k) {
    body.in[k] = in[k];
    body.packed = body.packed && IsPackAligned(in[k]);
  }
  for (int k = 0; k < kOutputs; ++k) {
    body.out[k] = out[k];
    body.packed = body.packed && IsPackAligned(out[k]);
  }
  return ForEach(CeilDivide(shape.elements(), kPackWidth<T>), body, queue);
}

template <typename T>
PARTITA_HOST_DEVICE const T* As(const void* address) {
  return static_cast<const T*>(address);
}
template <typename T>
PARTITA_HOST_DEVICE T* As(void* address) {
  return static_cast<T*>(address);
}

}  // namespace partita

#endif  // PARTITA_OPS_CUDA_LOOPS_ELEMENTWISE_H_
