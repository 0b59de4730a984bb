// The middle of what was measured several times, and how far it spreads.
#ifndef PARTITA_PARTITIONER_PROFILE_QUARTILES_H_
#define PARTITA_PARTITIONER_PROFILE_QUARTILES_H_

#include <vector>

namespace partita {

struct Quartiles {
  double low = 0, median = 0, high = 0;

  // The middle half of the values by the median: 0 if all are equal.
  double spread() const { return median > 0 ? (high - low) / median : 0; }
};

// Between two values in line with their ranks. At least one value (CHECKed).
Quartiles QuartilesOf(std::vector<double> values);

}  // namespace partita

#endif  // PARTITA_PARTITIONER_PROFILE_QUARTILES_H_
