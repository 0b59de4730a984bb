#include "ops/host/winograd/kinds_of_vectors.h"

#if defined(__x86_64__)
#define PARTITA_VECTORS __attribute__((target("avx512f")))

namespace partita {
namespace {
constexpr int64_t kLanes = 16;
constexpr int kRows[] = {24, 12, 8};
}  // namespace
}  // namespace partita

#include "ops/host/winograd/vector_line_loops.h"
#include "ops/host/winograd/vector_loops.h"

namespace partita {
const WinogradLoops kWinograd4x4Avx512 = LoopsOfTiles<4>("AVX-512"), kWinograd2x2Avx512 = LoopsOfTiles<2>("AVX-512");
const LineLoops kLineAvx512 = LineLoopsNamed("AVX-512");
}  // namespace partita
#endif
