// Reductions of two elements, written once for the loops of the host and the kernels of a GPU.
#ifndef PARTITA_RUNTIME_COMM_REDUCTION_FUNCTORS_H_
#define PARTITA_RUNTIME_COMM_REDUCTION_FUNCTORS_H_

#include <concepts>
#include <type_traits>

#include "runtime/base/bf16.h"

#ifdef __CUDACC__
#define PARTITA_REDUCTION_FUNCTION __host__ __device__
#else
#define PARTITA_REDUCTION_FUNCTION
#endif

namespace partita {

// Integers wrap around; bf16 is added in f32, and every sum rounded to bf16.
struct ReduceAdd {
  template <typename T>
  PARTITA_REDUCTION_FUNCTION T operator()(T a, T b) const {
    if constexpr (std::integral<T>) {
      using Unsigned = std::make_unsigned_t<T>;
      return static_cast<T>(static_cast<Unsigned>(a) + static_cast<Unsigned>(b));
    } else {
      return T(static_cast<Compute<T>>(a) + static_cast<Compute<T>>(b));
    }
  }
};

// NaN if one of them is.
struct ReduceMax {
  template <typename T>
  PARTITA_REDUCTION_FUNCTION T operator()(T a, T b) const {
    const auto x = static_cast<Compute<T>>(a), y = static_cast<Compute<T>>(b);
    return y > x || y != y ? b : a;  // a NaN in `a` stays: no comparison with it is true
  }
};

}  // namespace partita

#endif  // PARTITA_RUNTIME_COMM_REDUCTION_FUNCTORS_H_
