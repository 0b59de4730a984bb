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

// The mean of the middle half. Of times that come in two kinds, as those of threads that wake beside the one that wakes
// them or on another core, it goes from one to the other as they grow in number, where the median jumps. At least one
// value (CHECKed).
double MiddleMean(std::vector<double> values);

// Between two values in line with their ranks. At least one value (CHECKed).
Quartiles QuartilesOf(std::vector<double> values);

}  // namespace partita

#endif  // PARTITA_PARTITIONER_PROFILE_QUARTILES_H_
