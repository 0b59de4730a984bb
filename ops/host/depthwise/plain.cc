#include "ops/host/depthwise/kinds_of_vectors.h"

#define PARTITA_VECTORS

namespace partita {
namespace {
constexpr int kVectorBytes = 16;
constexpr bool kMakesTiles = false;
}  // namespace
}  // namespace partita

#include "ops/host/depthwise/vector_loops.h"

namespace partita {
const DepthwiseLoops<float> kDepthwisePlainF32 = LoopsNamed<float>("plain");
const DepthwiseLoops<double> kDepthwisePlainF64 = LoopsNamed<double>("plain");
const DepthwiseLoops<Bf16> kDepthwisePlainBf16 = LoopsNamed<Bf16>("plain");
}  // namespace partita
