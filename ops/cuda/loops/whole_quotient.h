// Division of floating-point numbers by a whole number that many of them share, in three operations.
//
//   q = RN(a * RN(1 / by)),  r = a - by * q,  RN(q + r * RN(1 / by))        (Markstein, 1990)
//
// q is off by at most 1.5 units in its last place, so r, a multiple of that unit, is exact: below the smallest normal
// number too, because `by` is a whole number. What is rounded last is a / by up to 1.5 * 2^-24 units (of f32), where
// a / by is either 1 / (4 by) units away from any middle of two numbers, or such a middle, which needs a `by` with a
// factor of 2 and a result below the smallest normal number; if `by` is a power of two, all is exact.
#ifndef PARTITA_OPS_CUDA_LOOPS_WHOLE_QUOTIENT_H_
#define PARTITA_OPS_CUDA_LOOPS_WHOLE_QUOTIENT_H_

#include <cmath>
#include <cstdint>

#include "runtime/base/philox.h"

namespace partita {

template <typename A>
struct WholeQuotient {
  A by = 1, inverse = 1;
  bool exact = true;  // whether operator() is bitwise the division

  WholeQuotient() = default;
  explicit WholeQuotient(int64_t divisor)
      : by(static_cast<A>(divisor)),
        inverse(A(1) / by),
        exact(divisor > 0 && divisor < (int64_t{1} << 20) && (divisor % 2 != 0 || (divisor & (divisor - 1)) == 0)) {}

  // The bits of a / by, but +0 for -0, and NaN for an infinite a.
  PARTITA_HOST_DEVICE A operator()(A a) const {
    const A near = a * inverse;
    return std::fma(std::fma(-by, near, a), inverse, near);
  }
};

}  // namespace partita

#endif  // PARTITA_OPS_CUDA_LOOPS_WHOLE_QUOTIENT_H_
