#include "runtime/comm/transport/body_checksum.h"

#include <xxhash.h>

namespace partita {

uint64_t BodyChecksum(std::span<const char> body, uint64_t seed) {
#if defined(__x86_64__)
  static const bool has_avx2 = __builtin_cpu_supports("avx2");
  if (has_avx2) return BodyChecksumAvx2(body, seed);
#endif
  return XXH3_64bits_withSeed(body.data(), body.size(), seed);
}

}  // namespace partita
