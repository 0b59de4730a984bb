#include "ops/host/winograd/loops.h"

#include "ops/host/kernel/target_clones.h"
#include "ops/host/winograd/kinds_of_vectors.h"

namespace partita {

const std::vector<const WinogradLoops*>& WinogradLoopsOfThisMachine() {
  static const auto& loops = *new std::vector<const WinogradLoops*>([] {
    std::vector<const WinogradLoops*> found;
#if defined(__x86_64__)
    if (HasWideVectors()) found.push_back(&kWinogradAvx512);
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) found.push_back(&kWinogradAvx2);
#endif
    return found;
  }());
  return loops;
}

}  // namespace partita
