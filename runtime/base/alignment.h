// The alignment of tensors in a block of memory: a cache line, a multiple of any kernel's vectors.
#ifndef PARTITA_RUNTIME_BASE_ALIGNMENT_H_
#define PARTITA_RUNTIME_BASE_ALIGNMENT_H_

#include <cstdint>

namespace partita {

inline constexpr int64_t kAlignment = 64;  // bytes

constexpr int64_t AlignDown(int64_t bytes) { return bytes / kAlignment * kAlignment; }
constexpr int64_t AlignUp(int64_t bytes) { return AlignDown(bytes + kAlignment - 1); }

}  // namespace partita

#endif  // PARTITA_RUNTIME_BASE_ALIGNMENT_H_
