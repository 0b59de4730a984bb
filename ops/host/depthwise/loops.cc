#include "ops/host/depthwise/loops.h"

#include "ops/host/depthwise/kinds_of_vectors.h"
#include "ops/host/kernel/target_clones.h"

namespace partita {
namespace {

template <typename T>
std::vector<const DepthwiseLoops<T>*> OfThisMachine([[maybe_unused]] const DepthwiseLoops<T>* avx512,
                                                    [[maybe_unused]] const DepthwiseLoops<T>* avx2,
                                                    const DepthwiseLoops<T>* plain) {
  std::vector<const DepthwiseLoops<T>*> found;
#if defined(__x86_64__)
  if (HasWideVectors()) found.push_back(avx512);
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) found.push_back(avx2);
#endif
  found.push_back(plain);
  return found;
}

#if defined(__x86_64__)
#define PARTITA_IF_X86(loops) &loops
#else
#define PARTITA_IF_X86(loops) nullptr
#endif

}  // namespace

template <>
const std::vector<const DepthwiseLoops<float>*>& DepthwiseLoopsOfThisMachine<float>() {
  static const auto& loops = *new std::vector<const DepthwiseLoops<float>*>(OfThisMachine<float>(
      PARTITA_IF_X86(kDepthwiseAvx512F32), PARTITA_IF_X86(kDepthwiseAvx2F32), &kDepthwisePlainF32));
  return loops;
}

template <>
const std::vector<const DepthwiseLoops<double>*>& DepthwiseLoopsOfThisMachine<double>() {
  static const auto& loops = *new std::vector<const DepthwiseLoops<double>*>(OfThisMachine<double>(
      PARTITA_IF_X86(kDepthwiseAvx512F64), PARTITA_IF_X86(kDepthwiseAvx2F64), &kDepthwisePlainF64));
  return loops;
}

template <>
const std::vector<const DepthwiseLoops<Bf16>*>& DepthwiseLoopsOfThisMachine<Bf16>() {
  static const auto& loops = *new std::vector<const DepthwiseLoops<Bf16>*>(OfThisMachine<Bf16>(
      PARTITA_IF_X86(kDepthwiseAvx512Bf16), PARTITA_IF_X86(kDepthwiseAvx2Bf16), &kDepthwisePlainBf16));
  return loops;
}

}  // namespace partita
