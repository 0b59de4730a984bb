// Hashes that name what is sent: two ranks that mean different things must never use one slot.
#ifndef PARTITA_RUNTIME_COMM_PROCESSES_SLOT_HASH_H_
#define PARTITA_RUNTIME_COMM_PROCESSES_SLOT_HASH_H_

#include <cstdint>
#include <initializer_list>
#include <span>

namespace partita {

// The finalizer of splitmix64 (Steele, Lea and Flood, 2014): a bijection that spreads every bit.
inline uint64_t MixBits(uint64_t x) {
  x += 0x9e3779b97f4a7c15;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

inline uint64_t HashOf(std::initializer_list<int64_t> values) {
  uint64_t hash = values.size();
  for (const int64_t value : values) hash = MixBits(hash ^ static_cast<uint64_t>(value));
  return hash;
}

inline uint64_t HashCounts(std::span<const int64_t> counts) {
  uint64_t hash = counts.size();
  for (const int64_t count : counts) hash = MixBits(hash ^ static_cast<uint64_t>(count));
  return hash;
}

}  // namespace partita

#endif  // PARTITA_RUNTIME_COMM_PROCESSES_SLOT_HASH_H_
