#include "ops/host/winograd/kinds_of_vectors.h"

#if defined(__x86_64__)
#define PARTITA_VECTORS __attribute__((target("avx2,fma")))

namespace partita {
namespace {
constexpr int64_t kLanes = 8;
constexpr int kRows[] = {12, 6, 4};
}  // namespace
}  // namespace partita

#include "ops/host/winograd/vector_line_loops.h"
#include "ops/host/winograd/vector_loops.h"

namespace partita {
const WinogradLoops kWinograd4x4Avx2 = LoopsOfTiles<4>("AVX2"), kWinograd2x2Avx2 = LoopsOfTiles<2>("AVX2");
const LineLoops kLineAvx2 = LineLoopsNamed("AVX2");
}  // namespace partita
#endif
