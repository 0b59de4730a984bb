// Division of indices by a size that a launch knows: multiplied by its inverse and corrected, because a GPU has no
// division of 64-bit integers and would call a function for it. For .cu files.
#ifndef PARTITA_OPS_CUDA_LOOPS_DIVISOR_H_
#define PARTITA_OPS_CUDA_LOOPS_DIVISOR_H_

#include <cstdint>

#include "runtime/base/philox.h"

namespace partita {

// The dividend is in [0, 2^53), so that a double holds it; the divisor is at least 1. Inverse and product are each
// rounded once, by 2^-53 of themselves: from 2 on the quotient, below 2^52, is off by less than 1 before it is cut, and
// by at most 1 after it; by 1 it is exact.
class Divisor {
 public:
  Divisor() = default;
  explicit Divisor(int64_t by) : by_(by), inverse_(1 / static_cast<double>(by)) {}

  template <typename Index>
  struct Parts {
    Index quotient, rest;
  };
  using Divided = Parts<int64_t>;

  // A dividend of 32 bits needs no correction: (i + 1/2) / by is at least 1/2 / by away from a whole number, and the
  // two roundings move it by less.
  PARTITA_HOST_DEVICE Parts<int32_t> operator()(int32_t i) const {
    const auto quotient = static_cast<int32_t>((i + 0.5) * inverse_);
    return {quotient, i - quotient * static_cast<int32_t>(by_)};
  }
  PARTITA_HOST_DEVICE Divided operator()(int64_t i) const {
    const auto quotient = static_cast<int64_t>(static_cast<double>(i) * inverse_);
    const int64_t rest = i - quotient * by_;
    if (rest < 0) return {quotient - 1, rest + by_};
    if (rest >= by_) return {quotient + 1, rest - by_};
    return {quotient, rest};
  }
  PARTITA_HOST_DEVICE int64_t by() const { return by_; }

 private:
  int64_t by_ = 1;
  double inverse_ = 1;
};

}  // namespace partita

#endif  // PARTITA_OPS_CUDA_LOOPS_DIVISOR_H_
