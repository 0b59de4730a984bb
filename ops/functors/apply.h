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

// What a step says in `apply` whose scalars are `finite` or not; `refused`: of KernelArguments, null as there.
PARTITA_HOST_DEVICE inline int32_t ApplyBehind(bool finite, uint64_t* refused) {
  if (refused == nullptr) return finite ? 1 : 0;
  if (!finite) *refused = 1;
  return *refused == 0 ? 1 : 0;
}

}  // namespace partita

#endif  // PARTITA_OPS_FUNCTORS_APPLY_H_
