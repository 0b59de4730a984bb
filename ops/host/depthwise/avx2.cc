#include "ops/host/depthwise/kinds_of_vectors.h"

#if defined(__x86_64__)
#define PARTITA_VECTORS __attribute__((target("avx2,fma")))

namespace partita {
namespace {
constexpr int kVectorBytes = 32;
constexpr bool kMakesTiles = true;
}  // namespace
}  // namespace partita

#include "ops/host/depthwise/vector_loops.h"

namespace partita {
const DepthwiseLoops<float> kDepthwiseAvx2F32 = LoopsNamed<float>("AVX2");
const DepthwiseLoops<double> kDepthwiseAvx2F64 = LoopsNamed<double>("AVX2");
const DepthwiseLoops<Bf16> kDepthwiseAvx2Bf16 = LoopsNamed<Bf16>("AVX2");
}  // namespace partita
#endif
