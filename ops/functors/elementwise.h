// The list of the element-wise ops. An op is its functor and its line here: its definition, its gradient, the kernels
// of all backends, and the tables of the tests are made from the list.
//
// A functor
//
//   struct Relu {
//     static std::string Name();
//     static constexpr bool kGradientReadsResult;  // else it reads the input; a step has no gradient
//     static constexpr int kCost;                  // of one element, in additions
//     static constexpr double kDomain[2];          // of a function that is no activation: where tests look at it
//     static constexpr double kBends[2];           // of an activation that bends outside of (-1, 1): where tests look
//     static constexpr double kExamples[][2];      // {x, y}
//     template <typename T> static T Value(T x);
//     template <typename T> static T Gradient(T dy, T kept);
//   };
//
// computes in f32 (of bf16 too) and f64, for host and device. A NaN goes through, so that a run that has become
// non-finite says so. Of an activation finite inputs have finite results and derivatives; other functions
// (ops/functors/functions.h) have a kDomain.
#ifndef PARTITA_OPS_FUNCTORS_ELEMENTWISE_H_
#define PARTITA_OPS_FUNCTORS_ELEMENTWISE_H_

#include "ops/functors/functions.h"
#include "ops/functors/gelu.h"
#include "ops/functors/pairs.h"
#include "ops/functors/relu.h"
#include "ops/functors/sigmoid.h"
#include "ops/functors/tanh.h"
#include "ops/functors/type_list.h"
#include "runtime/base/philox.h"

namespace partita {

// Those with a gradient, and steps, through which none flows.
using SmoothOps = TypeList<Atan, Cos, Erf, Exp, Expm1, Gelu, GeluTanh, HardSigmoid, HardSwish, Log, Log1p, Relu, Relu6,
                           Sigmoid, Silu, Sin, Sqrt, Square, Tanh>;
using StepOps = TypeList<Floor, Round>;
using UnaryOps = decltype(Joined(SmoothOps(), StepOps()));

template <typename F>
inline constexpr bool kIsActivation = !requires {
  F::kDomain;
};

// The gradient of an op of one input, an op of two: the cotangent, and the result or the input.
template <typename F>
struct GradientOf {
  static std::string Name() { return F::Name() + "_grad"; }
  static constexpr int kCost = F::kCost;

  template <typename T>
  PARTITA_HOST_DEVICE static T Value(T dy, T kept) {
    return F::Gradient(dy, kept);
  }
};

struct Mul {
  static std::string Name() { return "mul"; }
  static constexpr int kCost = 1;

  template <typename T>
  PARTITA_HOST_DEVICE static T Value(T x, T y) {
    return x * y;
  }
};

// Those whose inputs broadcast.
using PairOps = TypeList<Mul, Sub, Div, Maximum, Greater, GreaterEqual, Masked>;
using BinaryOps =
    decltype(Joined(Joined(Wrapped<GradientOf>(SmoothOps()), PairOps()), TypeList<DivDenominatorGrad, MaximumShare>()));

}  // namespace partita

#endif  // PARTITA_OPS_FUNCTORS_ELEMENTWISE_H_
