#include "tools/benchmarks/median.h"

#include <algorithm>
#include <cmath>

namespace partita {

Interval MedianInterval(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const size_t n = values.size();
  // The median lies below the k-th smallest value, or above the k-th largest, with probability 2 P(X < k), X binomial.
  double outside = 0, term = std::pow(0.5, static_cast<double>(n));  // P(X = k)
  size_t k = 0;
  for (; 2 * (k + 1) <= n; ++k) {
    outside += 2 * term;
    if (k > 0 && outside > 0.05) break;
    term *= static_cast<double>(n - k) / static_cast<double>(k + 1);
  }
  const size_t first = k == 0 ? 0 : k - 1;
  return {values[first], values[n - 1 - first]};
}

std::vector<double> Ratios(const std::vector<double>& a, const std::vector<double>& b) {
  std::vector<double> ratios;
  for (size_t i = 0; i < a.size(); ++i) ratios.push_back(a[i] / b[i]);
  return ratios;
}

double MedianRatio(const std::vector<double>& a, const std::vector<double>& b) { return Median(Ratios(a, b)); }

}  // namespace partita
