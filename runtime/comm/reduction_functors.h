// What a reduction does with two elements: written once, for the loops of the host and for the kernels of a GPU.
#ifndef PARTITA_RUNTIME_COMM_REDUCTION_FUNCTORS_H_
#define PARTITA_RUNTIME_COMM_REDUCTION_FUNCTORS_H_

#include <concepts>
#include <type_traits>

#ifdef __CUDACC__
#define PARTITA_REDUCTION_FUNCTION __host__ __device__
#else
#define PARTITA_REDUCTION_FUNCTION
#endif

namespace partita {

// Integers wrap around.
struct ReduceAdd {
  template <typename T>
  PARTITA_REDUCTION_FUNCTION T operator()(T a, T b) const {
    if constexpr (std::integral<T>) {
      using Unsigned = std::make_unsigned_t<T>;
      return static_cast<T>(static_cast<Unsigned>(a) + static_cast<Unsigned>(b));
    } else {
      return a + b;
    }
  }
};

// NaN if one of them is.
struct ReduceMax {
  template <typename T>
  PARTITA_REDUCTION_FUNCTION T operator()(T a, T b) const {
    return b > a || b != b ? b : a;  // a NaN in `a` stays: no comparison with it is true
  }
};

}  // namespace partita

#endif  // PARTITA_RUNTIME_COMM_REDUCTION_FUNCTORS_H_
