// Dropout of consecutive elements: many blocks of random words are made at once, in vectors.
#ifndef PARTITA_OPS_HOST_KERNEL_DROPOUT_RANGE_H_
#define PARTITA_OPS_HOST_KERNEL_DROPOUT_RANGE_H_

#include <cstdint>

#include "ops/functors/dropout.h"

namespace partita {

// A random number costs as much as touching this number of elements.
inline constexpr int64_t kCostOfRandom = 8;

// Elements whose global indices are `start`, start + 1, ...; y may be x.
void DropoutRange(const float* x, float* y, int64_t n, uint64_t start, const DropoutStep& step);

}  // namespace partita

#endif  // PARTITA_OPS_HOST_KERNEL_DROPOUT_RANGE_H_
