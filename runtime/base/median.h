// The middle of what was measured several times.
#ifndef PARTITA_RUNTIME_BASE_MEDIAN_H_
#define PARTITA_RUNTIME_BASE_MEDIAN_H_

#include <vector>

namespace partita {

// Of an even number of values the mean of the two in the middle. At least one value (CHECKed).
double Median(std::vector<double> values);

}  // namespace partita

#endif  // PARTITA_RUNTIME_BASE_MEDIAN_H_
