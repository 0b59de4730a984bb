// Describes a tensor with some dimensions summed, as runs of neighbours that are all summed or all kept, in order:
// x[2,3,5,7] with sums over 1 and 2 is 2 kept, 15 summed, 7 kept.
#ifndef PARTITA_OPS_FUNCTORS_SUMMED_RUNS_H_
#define PARTITA_OPS_FUNCTORS_SUMMED_RUNS_H_

#include <cstdint>

#include "runtime/base/philox.h"

namespace partita {

struct SummedRuns {
  static constexpr int kMost = 8;

  int count = 0;
  int64_t size[kMost] = {}, stride[kMost] = {};
  bool is_summed[kMost] = {};
  int64_t sums = 1, terms = 1;  // results, and what each of them adds up

  PARTITA_HOST_DEVICE int64_t elements() const { return sums * terms; }

  // Where the first term of a sum lies.
  PARTITA_HOST_DEVICE int64_t First(int64_t sum) const { return Place(sum, false); }
  // From there to a term.
  PARTITA_HOST_DEVICE int64_t Step(int64_t term) const { return Place(term, true); }

  // The sum that an element is a term of.
  PARTITA_HOST_DEVICE int64_t SumOf(int64_t element) const {
    int64_t sum = 0;
    for (int r = 0; r < count; ++r) {
      if (!is_summed[r]) sum = sum * size[r] + element / stride[r] % size[r];
    }
    return sum;
  }

 private:
  PARTITA_HOST_DEVICE int64_t Place(int64_t index, bool summed) const {
    int64_t place = 0;
    for (int r = count; r-- > 0;) {
      if (is_summed[r] != summed) continue;
      place += index % size[r] * stride[r];
      index /= size[r];
    }
    return place;
  }
};

}  // namespace partita

#endif  // PARTITA_OPS_FUNCTORS_SUMMED_RUNS_H_
