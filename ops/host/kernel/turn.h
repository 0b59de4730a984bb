// Rows that become columns, in vectors that every machine has.
#ifndef PARTITA_OPS_HOST_KERNEL_TURN_H_
#define PARTITA_OPS_HOST_KERNEL_TURN_H_

#include <cstdint>

namespace partita {

inline constexpr int64_t kTurnedRows = 4;

// Elements of any type. Not named within the template: there gcc 12 forgets that it may be an alias.
typedef int32_t AnyLanes __attribute__((vector_size(16), aligned(4), may_alias));

// to[k * step + r] = from[r * stride + k] for 4 rows and 0 <= k < n, of elements of 4 bytes. Nothing overlaps.
template <typename T>
inline __attribute__((always_inline)) void Turn(const T* from, int64_t stride, int64_t n, T* to, int64_t step) {
  static_assert(sizeof(T) == 4);
  using Lanes = AnyLanes;
  const T *const row1 = from + stride, *const row2 = row1 + stride, *const row3 = row2 + stride;
  int64_t k = 0;
  for (; k + 4 <= n; k += 4) {
    const Lanes a = *reinterpret_cast<const Lanes*>(from + k), b = *reinterpret_cast<const Lanes*>(row1 + k);
    const Lanes c = *reinterpret_cast<const Lanes*>(row2 + k), d = *reinterpret_cast<const Lanes*>(row3 + k);
    const Lanes ab0 = __builtin_shuffle(a, b, Lanes{0, 4, 1, 5}), ab2 = __builtin_shuffle(a, b, Lanes{2, 6, 3, 7});
    const Lanes cd0 = __builtin_shuffle(c, d, Lanes{0, 4, 1, 5}), cd2 = __builtin_shuffle(c, d, Lanes{2, 6, 3, 7});
    T* const square = to + k * step;
    *reinterpret_cast<Lanes*>(square) = __builtin_shuffle(ab0, cd0, Lanes{0, 1, 4, 5});
    *reinterpret_cast<Lanes*>(square + step) = __builtin_shuffle(ab0, cd0, Lanes{2, 3, 6, 7});
    *reinterpret_cast<Lanes*>(square + 2 * step) = __builtin_shuffle(ab2, cd2, Lanes{0, 1, 4, 5});
    *reinterpret_cast<Lanes*>(square + 3 * step) = __builtin_shuffle(ab2, cd2, Lanes{2, 3, 6, 7});
  }
  for (; k < n; ++k) {
    for (int64_t r = 0; r < kTurnedRows; ++r) to[k * step + r] = from[r * stride + k];
  }
}

}  // namespace partita

#endif  // PARTITA_OPS_HOST_KERNEL_TURN_H_
