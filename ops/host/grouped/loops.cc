#include "ops/host/grouped/loops.h"

#include "ops/host/grouped/kinds_of_vectors.h"
#include "ops/host/kernel/target_clones.h"

namespace partita {
namespace {

template <typename T>
std::vector<const GroupLoops<T>*> OfThisMachine([[maybe_unused]] const GroupLoops<T>* avx512,
                                                [[maybe_unused]] const GroupLoops<T>* avx2,
                                                const GroupLoops<T>* plain) {
  std::vector<const GroupLoops<T>*> found;
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
const std::vector<const GroupLoops<float>*>& GroupLoopsOfThisMachine<float>() {
  static const auto& loops = *new std::vector<const GroupLoops<float>*>(
      OfThisMachine<float>(PARTITA_IF_X86(kGroupedAvx512F32), PARTITA_IF_X86(kGroupedAvx2F32), &kGroupedPlainF32));
  return loops;
}

template <>
const std::vector<const GroupLoops<double>*>& GroupLoopsOfThisMachine<double>() {
  static const auto& loops = *new std::vector<const GroupLoops<double>*>(
      OfThisMachine<double>(PARTITA_IF_X86(kGroupedAvx512F64), PARTITA_IF_X86(kGroupedAvx2F64), &kGroupedPlainF64));
  return loops;
}

template <>
const std::vector<const GroupLoops<Bf16>*>& GroupLoopsOfThisMachine<Bf16>() {
  static const auto& loops = *new std::vector<const GroupLoops<Bf16>*>(
      OfThisMachine<Bf16>(PARTITA_IF_X86(kGroupedAvx512Bf16), PARTITA_IF_X86(kGroupedAvx2Bf16), &kGroupedPlainBf16));
  return loops;
}

}  // namespace partita
