// Ops of two numbers at the same place, but for the product (elementwise.h), and what their gradients are made of.
#ifndef PARTITA_OPS_FUNCTORS_PAIRS_H_
#define PARTITA_OPS_FUNCTORS_PAIRS_H_

#include <string>

#include "runtime/base/philox.h"

namespace partita {

struct Sub {
  static std::string Name() { return "sub"; }
  static constexpr int kCost = 1;

  template <typename T>
  PARTITA_HOST_DEVICE static T Value(T x, T y) {
    return x - y;
  }
};

// Where y is 0 the quotient is not finite.
struct Div {
  static std::string Name() { return "div"; }
  static constexpr int kCost = 4;

  template <typename T>
  PARTITA_HOST_DEVICE static T Value(T x, T y) {
    return x / y;
  }
};

// The gradient of q = x / y by y, of the one by x: -dx q.
struct DivDenominatorGrad {
  static std::string Name() { return "div_denominator_grad"; }
  static constexpr int kCost = 1;

  template <typename T>
  PARTITA_HOST_DEVICE static T Value(T dx, T q) {
    return -(dx * q);
  }
};

// The order of a maximum over a window: true if `value`, met after `best`, takes its place. The first of equal values
// wins, a NaN wins and stays.
template <typename T>
PARTITA_HOST_DEVICE inline bool Exceeds(T value, T best) {
  return value > best || value != value;
}

// A NaN wins.
struct Maximum {
  static std::string Name() { return "maximum"; }
  static constexpr int kCost = 1;

  template <typename T>
  PARTITA_HOST_DEVICE static T Value(T x, T y) {
    return x > y || x != x ? x : y;
  }
};

// 1 where x is the larger one, else 0. A NaN is neither larger than a number nor equal to one.
struct Greater {
  static std::string Name() { return "greater"; }
  static constexpr int kCost = 1;

  template <typename T>
  PARTITA_HOST_DEVICE static T Value(T x, T y) {
    return x > y ? T(1) : T(0);
  }
};

struct GreaterEqual {
  static std::string Name() { return "greater_equal"; }
  static constexpr int kCost = 1;

  template <typename T>
  PARTITA_HOST_DEVICE static T Value(T x, T y) {
    return x >= y ? T(1) : T(0);
  }
};

// x where the mask is not 0. Where it is 0 the result is 0, whatever x is; a product would keep infinities and NaN.
struct Masked {
  static std::string Name() { return "masked"; }
  static constexpr int kCost = 1;

  template <typename T>
  PARTITA_HOST_DEVICE static T Value(T x, T mask) {
    return mask != T(0) ? x : T(0);
  }
};

// The derivative of the maximum by x: equal numbers share it in halves, a NaN gets all of it.
struct MaximumShare {
  static std::string Name() { return "maximum_share"; }
  static constexpr int kCost = 1;

  template <typename T>
  PARTITA_HOST_DEVICE static T Value(T x, T y) {
    if (x == y) return T(0.5);
    return x < y ? T(0) : T(1);
  }
};

}  // namespace partita

#endif  // PARTITA_OPS_FUNCTORS_PAIRS_H_
