#include "runtime/comm/transport/body_checksum.h"

#if defined(__x86_64__)

// Nothing else may be included under the target: an inline function of the standard library would be made for AVX2, and
// the linker could take it for all.
#include <immintrin.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#pragma GCC push_options
#pragma GCC target("avx2")
#define XXH_VECTOR XXH_AVX2
#include <xxhash.h>

namespace partita {

uint64_t BodyChecksumAvx2(std::span<const char> body, uint64_t seed) {
  return XXH3_64bits_withSeed(body.data(), body.size(), seed);
}

}  // namespace partita

#pragma GCC pop_options

#endif
