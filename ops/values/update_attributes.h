// An update (ops/functors/update.h) that knows what its node says, for kernels of every backend.
#ifndef PARTITA_OPS_VALUES_UPDATE_ATTRIBUTES_H_
#define PARTITA_OPS_VALUES_UPDATE_ATTRIBUTES_H_

#include "graph/value/attributes.h"
#include "ops/functors/update.h"

namespace partita {

template <typename F>
F UpdateWith(const Attributes& attributes) {
  F update;
  for (const UpdateAttribute<F>& a : F::kAttributes) {
    update.*a.member = a.is_flag ? (attributes.Bool(a.name) ? 1 : 0) : attributes.Float(a.name);
  }
  if constexpr (requires { update.Derive(); }) update.Derive();
  return update;
}

}  // namespace partita

#endif  // PARTITA_OPS_VALUES_UPDATE_ATTRIBUTES_H_
