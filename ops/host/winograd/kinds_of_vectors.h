// The loops of loops.h and line_loops.h for each kind of vectors, whether or not the machine has them.
#ifndef PARTITA_OPS_HOST_WINOGRAD_KINDS_OF_VECTORS_H_
#define PARTITA_OPS_HOST_WINOGRAD_KINDS_OF_VECTORS_H_

#include "ops/host/winograd/line_loops.h"
#include "ops/host/winograd/loops.h"

namespace partita {

extern const WinogradLoops kWinograd4x4Avx512, kWinograd4x4Avx2, kWinograd2x2Avx512, kWinograd2x2Avx2;
extern const LineLoops kLineAvx512, kLineAvx2;

}  // namespace partita

#endif  // PARTITA_OPS_HOST_WINOGRAD_KINDS_OF_VECTORS_H_
