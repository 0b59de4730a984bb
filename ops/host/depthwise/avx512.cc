#include "ops/host/depthwise/kinds_of_vectors.h"

#if defined(__x86_64__)
#define PARTITA_VECTORS __attribute__((target("avx512f")))

namespace partita {
namespace {
constexpr int kVectorBytes = 64;
constexpr bool kMakesTiles = true;
}  // namespace
}  // namespace partita

#include "ops/host/depthwise/vector_loops.h"

namespace partita {
const DepthwiseLoops<float> kDepthwiseAvx512F32 = LoopsNamed<float>("AVX-512");
const DepthwiseLoops<double> kDepthwiseAvx512F64 = LoopsNamed<double>("AVX-512");
const DepthwiseLoops<Bf16> kDepthwiseAvx512Bf16 = LoopsNamed<Bf16>("AVX-512");
}  // namespace partita
#endif
