// Vectors of floats for loops that the compiler does not vectorise by itself.
#ifndef PARTITA_OPS_HOST_FAST_LANES_H_
#define PARTITA_OPS_HOST_FAST_LANES_H_

#include <cstdint>
#include <cstring>

#define PARTITA_INLINE inline __attribute__((always_inline))

namespace partita {

template <int kLanes>
struct Floats {
  typedef float Type __attribute__((vector_size(kLanes * sizeof(float))));
};

template <typename V>
PARTITA_INLINE void Load(const float* from, V& to) {
  std::memcpy(&to, from, sizeof(V));
}

template <typename V>
PARTITA_INLINE void Store(float* to, const V& from) {
  std::memcpy(to, &from, sizeof(V));
}

}  // namespace partita

#endif  // PARTITA_OPS_HOST_FAST_LANES_H_
