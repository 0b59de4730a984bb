// The loops of loops.h for each kind of vectors, whether or not the machine has them.
#ifndef PARTITA_OPS_HOST_DEPTHWISE_KINDS_OF_VECTORS_H_
#define PARTITA_OPS_HOST_DEPTHWISE_KINDS_OF_VECTORS_H_

#include "ops/host/depthwise/loops.h"

namespace partita {

extern const DepthwiseLoops<float> kDepthwiseAvx512F32, kDepthwiseAvx2F32, kDepthwisePlainF32;
extern const DepthwiseLoops<double> kDepthwiseAvx512F64, kDepthwiseAvx2F64, kDepthwisePlainF64;
extern const DepthwiseLoops<Bf16> kDepthwiseAvx512Bf16, kDepthwiseAvx2Bf16, kDepthwisePlainBf16;

}  // namespace partita

#endif  // PARTITA_OPS_HOST_DEPTHWISE_KINDS_OF_VECTORS_H_
