// Division of indices by a size that a launch knows: a product, because a GPU has no division of integers and would
// call a function for one of 64 bits. For .cu files.
#ifndef PARTITA_OPS_CUDA_LOOPS_DIVISOR_H_
#define PARTITA_OPS_CUDA_LOOPS_DIVISOR_H_

#include <cstdint>
#include <limits>
#include <type_traits>

#include "runtime/base/philox.h"

namespace partita {

template <typename Index>
struct DividedParts {
  Index quotient, rest;
};

// The dividend is in [0, 2^53), so that a double holds it; the divisor is at least 1. Inverse and product are each
// rounded once, by 2^-53 of themselves: from 2 on the quotient, below 2^52, is off by less than 1 before it is cut, and
// by at most 1 after it; by 1 it is exact.
class Divisor {
 public:
  Divisor() = default;
  explicit Divisor(int64_t by) : by_(by), inverse_(1 / static_cast<double>(by)) {}

  using Divided = DividedParts<int64_t>;

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

// The dividend is in [0, 2^31), and so is the quotient: i factor / 2^(31 + shift), cut. With 2^(shift-1) < by <=
// 2^shift the factor is 2^(31 + shift) / by, rounded up by less than 1; that adds less than i / 2^(31 + shift) <= 1 /
// by to the quotient, which is at least 1 / by below the next whole number unless it is one itself.
class NarrowDivisor {
 public:
  NarrowDivisor() = default;
  explicit NarrowDivisor(int64_t by) : by_(static_cast<uint32_t>(by)), factor_(0) {
    // Nothing is divided by 0, and the quotient of all larger numbers is 0.
    if (by < 1 || by > std::numeric_limits<int32_t>::max()) return;
    while (int64_t{1} << shift_ < by) ++shift_;
    factor_ = static_cast<uint32_t>(((int64_t{1} << (31 + shift_)) + by - 1) / by);
  }

  PARTITA_HOST_DEVICE DividedParts<int32_t> operator()(int32_t i) const {
    const uint64_t product = static_cast<uint64_t>(2 * static_cast<uint32_t>(i)) * factor_;
    const uint32_t quotient = static_cast<uint32_t>(product >> 32) >> shift_;
    return {static_cast<int32_t>(quotient), static_cast<int32_t>(static_cast<uint32_t>(i) - quotient * by_)};
  }

 private:
  uint32_t by_ = 1, factor_ = uint32_t{1} << 31;
  int shift_ = 0;
};

template <typename Index>
using DivisorOf = std::conditional_t<std::is_same_v<Index, int32_t>, NarrowDivisor, Divisor>;

}  // namespace partita

#endif  // PARTITA_OPS_CUDA_LOOPS_DIVISOR_H_
