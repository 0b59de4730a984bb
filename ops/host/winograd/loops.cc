#include "ops/host/winograd/loops.h"

#include <utility>

#include "ops/host/kernel/target_clones.h"
#include "ops/host/winograd/kinds_of_vectors.h"

namespace partita {
namespace {

#if defined(__x86_64__)
// Of the loops of all kinds of vectors those that this machine can run.
template <typename Loops>
std::vector<const Loops*> OfThisMachine(std::vector<const Loops*> avx512, const std::vector<const Loops*>& avx2) {
  std::vector<const Loops*> found;
  if (HasWideVectors()) found = std::move(avx512);
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
    found.insert(found.end(), avx2.begin(), avx2.end());
  }
  return found;
}
#endif

}  // namespace

const std::vector<const WinogradLoops*>& WinogradLoopsOfThisMachine() {
  static const auto& loops = *new std::vector<const WinogradLoops*>(
#if defined(__x86_64__)
      OfThisMachine<WinogradLoops>({&kWinograd4x4Avx512, &kWinograd2x2Avx512}, {&kWinograd4x4Avx2, &kWinograd2x2Avx2})
#endif
  );
  return loops;
}

const std::vector<const LineLoops*>& LineLoopsOfThisMachine() {
  static const auto& loops = *new std::vector<const LineLoops*>(
#if defined(__x86_64__)
      OfThisMachine<LineLoops>({&kLineAvx512}, {&kLineAvx2})
#endif
  );
  return loops;
}

}  // namespace partita
