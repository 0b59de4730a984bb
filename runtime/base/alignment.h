// Where tensors begin in a block of memory: at multiples of a cache line, which any kernel's vectors divide.
#ifndef PARTITA_RUNTIME_BASE_ALIGNMENT_H_
#define PARTITA_RUNTIME_BASE_ALIGNMENT_H_

#include <cstdint>

namespace partita {

inline constexpr int64_t kAlignment = 64;  // bytes

constexpr int64_t AlignDown(int64_t bytes) { return bytes / kAlignment * kAlignment; }
constexpr int64_t AlignUp(int64_t bytes) { return AlignDown(bytes + kAlignment - 1); }

}  // namespace partita

#endif  // PARTITA_RUNTIME_BASE_ALIGNMENT_H_
