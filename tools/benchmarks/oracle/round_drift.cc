#include "tools/benchmarks/oracle/round_drift.h"

#include <cmath>
#include <cstddef>
#include <utility>

#include "runtime/base/median.h"

namespace partita {

std::vector<std::vector<double>> WithoutDrift(std::vector<std::vector<double>> values) {
  const double cases = static_cast<double>(values.size());
  if (cases < 2) return values;
  std::vector<double> ordinary;
  for (const std::vector<double>& rounds : values) ordinary.push_back(Median(rounds));
  for (size_t round = 0; round < values[0].size(); ++round) {
    std::vector<double> times;
    for (size_t c = 0; c < values.size(); ++c) times.push_back(values[c][round] / ordinary[c]);
    const double drift = Median(std::move(times));
    for (std::vector<double>& rounds : values) rounds[round] /= drift;
  }
  const double stretch = std::sqrt(cases / (cases - 1));
  for (std::vector<double>& rounds : values) {
    const double middle = Median(rounds);
    for (double& value : rounds) value = middle + stretch * (value - middle);
  }
  return values;
}

}  // namespace partita
