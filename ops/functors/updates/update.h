// The parts of an optimizer's update, for host and device code. Each update is one struct:
//
//   struct Example {
//     static constexpr char kName[] = "example";
//     static constexpr bool kIsOptimizer = true;
//     static constexpr bool kCountsSteps = false;
//     static constexpr double kFlops = 6;
//     static constexpr std::array kSlots = {UpdateSlot{"mean", 0}};
//     double decay = 0.9;
//     static constexpr std::array kAttributes = {UpdateAttribute<Example>{"decay", &Example::decay, 0.9, 0, 1}};
//     void Derive();
//     template <typename T>
//     struct Step {
//       PARTITA_HOST_DEVICE void operator()(T& w, T g, T* slots) const;
//     };
//     template <typename T>
//     PARTITA_HOST_DEVICE Step<T> In(const UpdateScalars<T>& scalars) const;
//   };
//
// kName: of the op, and of the optimizer if it is one; else another optimizer uses it (ops/definitions/optimizers.cc).
// kCountsSteps: it reads UpdateScalars::step. kReadsRate = false (optional): it needs no rate. kIsTrained = false
// (optional): w is not a parameter, so mixed precision makes no bf16 copy of it. kFlops: of an element. kSlots: tensors
// beside each parameter. The host calls Derive, if it exists, when the attributes are set. One Step serves all elements
// of a training step; it changes w and its slots in place. `const char* Fault() const` (optional) returns why the
// attributes do not fit together, or null.
//
// From the list of them (updates.h) come the ops, the optimizers, and the kernels of every backend. The op is
//   w', slots'... = example(w, g, slots..., rate, apply?, clip?, iteration if it counts steps) rate_factor=1
//
// An update may have two phases, with norms between them:
//   d, slots'...  = direction(w, g, slots..., rate?, apply?, clip?, ...)   if F::Direction names a struct
//   w', slots'... = example(w, d, slots..., ..., w_squares, g_squares)     if its Step has SetNorms
// `using Direction = ExampleDirection` names the update of the first phase, which has kIsDirection = true: its Step
// writes the direction d in the place of w. Clipping and gradient scales act in the first phase. Without a Direction, g
// is the gradient. `void SetNorms(T w, T g)` of a Step receives the norms of the whole parameter and of the whole g (or
// d), however both are split, before the first element of each parameter.
#ifndef PARTITA_OPS_FUNCTORS_UPDATES_UPDATE_H_
#define PARTITA_OPS_FUNCTORS_UPDATES_UPDATE_H_

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "ops/functors/apply.h"
#include "runtime/base/philox.h"

namespace partita {

// A tensor beside each parameter, that begins with `initial` everywhere, or with what an attribute says.
struct UpdateSlot {
  const char* name;
  double initial;
  const char* initial_attribute = nullptr;
};

// A number in [least, below), or a flag, which is kept as 0 or 1.
template <typename F>
struct UpdateAttribute {
  using Member = double F::*;
  const char* name;
  Member member;
  double value;  // where nothing is said
  double least = 0, below = std::numeric_limits<double>::infinity();
  bool is_flag = false;
};

// What a step gives to all parameters.
template <typename T>
struct UpdateScalars {
  T rate;
  T clip;      // every gradient is multiplied by it
  T step;      // 1 for the first
  bool apply;  // false: w and its slots do not change, for any g
};

template <typename F>
inline constexpr int kSlotsOf = static_cast<int>(F::kSlots.size());

// Where the op has its scalars.
template <typename F>
inline constexpr size_t kRateInput = 2 + F::kSlots.size();
template <typename F>
inline constexpr size_t kApplyInput = kRateInput<F> + 1;
template <typename F>
inline constexpr size_t kClipInput = kRateInput<F> + 2;
template <typename F>
inline constexpr size_t kIterationInput = kRateInput<F> + 3;
template <typename F>
inline constexpr size_t kNormInputs = kIterationInput<F> + (F::kCountsSteps ? 1 : 0);

// Whether it reads norms: the op has two scalars at kNormInputs, the sums of squares of w and of g.
template <typename F>
concept ReadsNorms = requires(typename F::template Step<float> step) {
  step.SetNorms(0.0F, 0.0F);
};
template <typename F>
concept HasDirection = requires {
  typename F::Direction;
};

// The scalars of an update from their addresses: of an absent apply or clip, and of a rate or an iteration that it does
// not read, null.
template <typename F, typename T>
PARTITA_HOST_DEVICE inline UpdateScalars<T> ScalarsAt(const T* rate, const int32_t* apply, const T* clip,
                                                      const int32_t* iteration) {
  T step = 0;
  if constexpr (F::kCountsSteps) step = static_cast<T>(*iteration) + T(1);
  return {rate == nullptr ? T(0) : *rate, clip == nullptr ? T(1) : *clip, step, Applies(apply)};
}

// An update as a group of parameters has it: all ops have the attribute kRateFactor.
inline constexpr char kRateFactor[] = "rate_factor";
template <typename F>
struct GroupUpdate {
  F update = {};
  double rate_factor = 1;

  bool operator==(const GroupUpdate& other) const {
    bool same = rate_factor == other.rate_factor;
    for (const UpdateAttribute<F>& a : F::kAttributes) same = same && update.*a.member == other.update.*a.member;
    return same;
  }

  template <typename T>
  PARTITA_HOST_DEVICE typename F::template Step<T> In(UpdateScalars<T> scalars) const {
    scalars.rate = scalars.rate * static_cast<T>(rate_factor);
    return update.template In<T>(scalars);
  }
};

// The update of an element, as the loops of all backends call it.
template <typename F, typename T>
struct ElementUpdate {
  typename F::template Step<T> step;
  bool apply;

  ElementUpdate() = default;
  PARTITA_HOST_DEVICE ElementUpdate(const GroupUpdate<F>& update, const UpdateScalars<T>& scalars)
      : step(update.template In<T>(scalars)), apply(scalars.apply) {}
  PARTITA_HOST_DEVICE void operator()(T& w, T g, T* slots) const {
    if (apply) step(w, g, slots);
  }
  // For one parameter, from its sums of squares.
  PARTITA_HOST_DEVICE void SetNorms(T w_squares, T g_squares) requires ReadsNorms<F> {
    step.SetNorms(std::sqrt(w_squares), std::sqrt(g_squares));
  }
};

}  // namespace partita

#endif  // PARTITA_OPS_FUNCTORS_UPDATES_UPDATE_H_
