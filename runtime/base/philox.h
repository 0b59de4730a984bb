// Counter-based random numbers: Philox4x32-10 (Salmon et al., SC 2011, section 3.3).
//
// A number depends on (seed, name, iteration, global element index) and on nothing else: not on the rank that asks, not
// on the order of asking, not on the number of threads. So a dropout mask and an initial value are the same however a
// value is split. Host and device code share this file; only PhiloxKey is for the host alone.
//
//   key      seed xor FNV-1a-64(name)                         two 32-bit words, low word first
//   counter  (index / 4, iteration), each 64 bits             four 32-bit words, low words first
//   lane     index mod 4
//   uniform  (x >> 8) / 2^24, in [0, 1); exact in f32, so f64 sees the same values
#ifndef PARTITA_RUNTIME_BASE_PHILOX_H_
#define PARTITA_RUNTIME_BASE_PHILOX_H_

#include <cmath>
#include <cstdint>
#include <string_view>

#if defined(__CUDACC__)
#define PARTITA_HOST_DEVICE __host__ __device__
#else
#define PARTITA_HOST_DEVICE
#endif

namespace partita {

struct PhiloxBlock {
  uint32_t lane[4];
};

// The bare generator: ten rounds on a 128-bit counter under a 64-bit key.
PARTITA_HOST_DEVICE inline PhiloxBlock Philox4x32(PhiloxBlock counter, uint32_t key0, uint32_t key1) {
  uint32_t c0 = counter.lane[0], c1 = counter.lane[1], c2 = counter.lane[2], c3 = counter.lane[3];
  for (int round = 0; round < 10; ++round) {
    const uint64_t product0 = uint64_t{0xD2511F53} * c0;
    const uint64_t product1 = uint64_t{0xCD9E8D57} * c2;
    c0 = static_cast<uint32_t>(product1 >> 32) ^ c1 ^ key0;
    c2 = static_cast<uint32_t>(product0 >> 32) ^ c3 ^ key1;
    c1 = static_cast<uint32_t>(product1);
    c3 = static_cast<uint32_t>(product0);
    key0 += 0x9E3779B9;
    key1 += 0xBB67AE85;
  }
  return PhiloxBlock{{c0, c1, c2, c3}};
}

// The key of a named use of `seed`; the name is that of the forward node (or of the use, for data), never an id.
inline uint64_t PhiloxKey(uint64_t seed, std::string_view name) {
  uint64_t hash = 0xCBF29CE484222325;
  for (const char c : name) {
    hash ^= static_cast<uint8_t>(c);
    hash *= 0x100000001B3;
  }
  return seed ^ hash;
}

// The four numbers of elements 4 * block .. 4 * block + 3: a loop over elements needs one call per four of them.
PARTITA_HOST_DEVICE inline PhiloxBlock RandomBlock(uint64_t key, uint64_t iteration, uint64_t block) {
  const PhiloxBlock counter{{static_cast<uint32_t>(block), static_cast<uint32_t>(block >> 32),
                             static_cast<uint32_t>(iteration), static_cast<uint32_t>(iteration >> 32)}};
  return Philox4x32(counter, static_cast<uint32_t>(key), static_cast<uint32_t>(key >> 32));
}

// A 32-bit word as a uniform number in [0, 1), a multiple of 2^-24.
PARTITA_HOST_DEVICE inline float ToUniform(uint32_t word) {
  return static_cast<float>(word >> 8) * (1.0f / 16777216.0f);
}

// Two words as one normal number (Box and Muller): radius from `a`, angle from `b`; `sine` takes the second of the
// pair. 1 - u is in (0, 1], so the logarithm is finite and the largest magnitude is sqrt(48 ln 2) = 5.77.
PARTITA_HOST_DEVICE inline double ToNormal(uint32_t a, uint32_t b, bool sine) {
  const double radius = std::sqrt(-2.0 * std::log(1.0 - static_cast<double>(ToUniform(a))));
  const double angle = 6.283185307179586476925 * static_cast<double>(ToUniform(b));
  return radius * (sine ? std::sin(angle) : std::cos(angle));
}

// Uniform in [0, 1) for the element with global index `index`.
PARTITA_HOST_DEVICE inline float Uniform(uint64_t key, uint64_t iteration, uint64_t index) {
  return ToUniform(RandomBlock(key, iteration, index / 4).lane[index % 4]);
}

// Normal with mean 0 and variance 1 for the element with global index `index`. Lanes (0, 1) of its block give the
// elements of lanes 0 (cosine) and 1 (sine), lanes (2, 3) those of lanes 2 and 3.
PARTITA_HOST_DEVICE inline double Normal(uint64_t key, uint64_t iteration, uint64_t index) {
  const PhiloxBlock block = RandomBlock(key, iteration, index / 4);
  const uint64_t pair = index % 4 / 2 * 2;
  return ToNormal(block.lane[pair], block.lane[pair + 1], index % 2 == 1);
}

}  // namespace partita

#endif  // PARTITA_RUNTIME_BASE_PHILOX_H_
