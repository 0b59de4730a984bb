// Whether a step changes the states (docs/design.md 5.24).
#ifndef PARTITA_OPS_FUNCTORS_APPLY_H_
#define PARTITA_OPS_FUNCTORS_APPLY_H_

#include <cstdint>

#include "runtime/base/philox.h"

namespace partita {

// Neither NaN nor infinite, by arithmetic that is the same everywhere.
template <typename T>
PARTITA_HOST_DEVICE inline bool IsFinite(T x) {
  return x - x == T(0);
}

// What the scalar `apply` says that a node may have; without one it always applies.
PARTITA_HOST_DEVICE inline bool Applies(const int32_t* apply) { return apply == nullptr || *apply != 0; }

}  // namespace partita

#endif  // PARTITA_OPS_FUNCTORS_APPLY_H_
