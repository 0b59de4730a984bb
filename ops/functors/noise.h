// Random numbers that belong to an element: of the step, the node and the element's global index, however the tensor is
// split (runtime/base/philox.h).
#ifndef PARTITA_OPS_FUNCTORS_NOISE_H_
#define PARTITA_OPS_FUNCTORS_NOISE_H_

#include <cstdint>

#include "runtime/base/philox.h"

namespace partita {

// What decides a node's numbers in a step.
struct NoiseStep {
  bool normal = false;  // mean 0 and variance 1; else uniform in [0, 1)
  uint64_t key = 0, iteration = 0;

  PARTITA_HOST_DEVICE double At(uint64_t index) const {
    const PhiloxBlock words = RandomBlock(key, iteration, index / 4);
    const bool odd = index % 2 == 1, late = index % 4 >= 2;
    // Without an index into registers, which would move them to memory.
    const uint32_t first = late ? words.lane[2] : words.lane[0], second = late ? words.lane[3] : words.lane[1];
    if (normal) return ToNormal(first, second, odd);
    return static_cast<double>(ToUniform(odd ? second : first));
  }
};

}  // namespace partita

#endif  // PARTITA_OPS_FUNCTORS_NOISE_H_
