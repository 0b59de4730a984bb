// Medians of what the rounds of a benchmark measured.
#ifndef PARTITA_TOOLS_BENCHMARKS_MEDIAN_H_
#define PARTITA_TOOLS_BENCHMARKS_MEDIAN_H_

#include <vector>

namespace partita {

// Of at least one value.
double Median(std::vector<double> values);

// Of the ratios a[i] / b[i]: what slows a whole round down slows both.
double MedianRatio(const std::vector<double>& a, const std::vector<double>& b);

}  // namespace partita

#endif  // PARTITA_TOOLS_BENCHMARKS_MEDIAN_H_
