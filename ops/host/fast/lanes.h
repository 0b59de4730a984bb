// Vectors of floats for loops over channels that the compiler does not vectorise by itself.
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

// Calls body.Run<V>(c) so that all channels are covered: V has 16 lanes, then 8, then 4, then 1.
template <typename Body>
PARTITA_INLINE void ForChannels(int64_t channels, const Body& body) {
  int64_t c = 0;
  for (; c + 16 <= channels; c += 16) body.template Run<Floats<16>::Type>(c);
  for (; c + 8 <= channels; c += 8) body.template Run<Floats<8>::Type>(c);
  for (; c + 4 <= channels; c += 4) body.template Run<Floats<4>::Type>(c);
  for (; c < channels; ++c) body.template Run<Floats<1>::Type>(c);
}

}  // namespace partita

#endif  // PARTITA_OPS_HOST_FAST_LANES_H_
