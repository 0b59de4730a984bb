// The confidence of the medians of a benchmark's rounds, and of their ratios.
#ifndef PARTITA_TOOLS_BENCHMARKS_MEDIAN_H_
#define PARTITA_TOOLS_BENCHMARKS_MEDIAN_H_

#include <vector>

#include "runtime/base/median.h"

namespace partita {

// The narrowest pair of the values that contains the median of their distribution, for any distribution, with a
// probability of at least 95 %. For fewer than 6 values it is the first and the last: 94 % with 5, 75 % with 3.
struct Interval {
  double low = 0, high = 0;
};
Interval MedianInterval(std::vector<double> values);

// The ratios a[i] / b[i].
std::vector<double> Ratios(const std::vector<double>& a, const std::vector<double>& b);

// Of the ratios: what slows a whole round down slows both.
double MedianRatio(const std::vector<double>& a, const std::vector<double>& b);

}  // namespace partita

#endif  // PARTITA_TOOLS_BENCHMARKS_MEDIAN_H_
