// The loops of loops.h for each kind of vectors, whether or not the machine has them.
#ifndef PARTITA_OPS_HOST_GROUPED_KINDS_OF_VECTORS_H_
#define PARTITA_OPS_HOST_GROUPED_KINDS_OF_VECTORS_H_

#include "ops/host/grouped/loops.h"

namespace partita {

extern const GroupLoops<float> kGroupedAvx512F32, kGroupedAvx2F32, kGroupedPlainF32;
extern const GroupLoops<double> kGroupedAvx512F64, kGroupedAvx2F64, kGroupedPlainF64;
extern const GroupLoops<Bf16> kGroupedAvx512Bf16, kGroupedAvx2Bf16, kGroupedPlainBf16;

}  // namespace partita

#endif  // PARTITA_OPS_HOST_GROUPED_KINDS_OF_VECTORS_H_
