// An update (ops/functors/updates/update.h) that knows what its node says, and how its tensors are stored, for kernels
// of every backend.
#ifndef PARTITA_OPS_VALUES_UPDATE_ATTRIBUTES_H_
#define PARTITA_OPS_VALUES_UPDATE_ATTRIBUTES_H_

#include "graph/ir/kernel_catalogue.h"
#include "graph/value/attributes.h"
#include "ops/functors/updates/update.h"

namespace partita {

// Without what Derive computes.
template <typename F>
F UpdateOf(const Attributes& attributes) {
  F update;
  for (const UpdateAttribute<F>& a : F::kAttributes) {
    update.*a.member = a.is_flag ? (attributes.Bool(a.name) ? 1 : 0) : attributes.Float(a.name);
  }
  return update;
}

template <typename F>
GroupUpdate<F> UpdateWith(const Attributes& attributes) {
  GroupUpdate<F> group{UpdateOf<F>(attributes)};
  if constexpr (requires { group.update.Derive(); }) group.update.Derive();
  group.rate_factor = attributes.Float(kRateFactor);
  return group;
}

// What beside f32 (or f64) a node has: a gradient in bf16, and the new w once more in bf16, as its last output
// (OpDefinition::takes_bf16 and rounds).
struct UpdateForm {
  bool narrow_gradient = false, rounds = false;
};

// Of one member.
template <typename F>
UpdateForm UpdateFormOf(const LocalNode& node) {
  const DType w = node.inputs[0]->dtype;
  const bool more = node.outputs.size() > 1 + F::kSlots.size() && node.outputs.back().elements() > 0;
  return {w != DType::kBF16 && node.inputs[1]->dtype == DType::kBF16, more};
}

}  // namespace partita

#endif  // PARTITA_OPS_VALUES_UPDATE_ATTRIBUTES_H_
