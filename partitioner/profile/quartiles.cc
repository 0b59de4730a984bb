#include "partitioner/profile/quartiles.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "runtime/base/check.h"

namespace partita {

Quartiles QuartilesOf(std::vector<double> values) {
  CHECK(!values.empty());
  std::ranges::sort(values);
  const auto at = [&values](double share) {
    const double place = share * static_cast<double>(values.size() - 1);
    const auto below = static_cast<size_t>(place);
    const size_t above = std::min(below + 1, values.size() - 1);
    return std::lerp(values[below], values[above], place - static_cast<double>(below));
  };
  return {at(0.25), at(0.5), at(0.75)};
}

double MiddleMean(std::vector<double> values) {
  CHECK(!values.empty());
  std::ranges::sort(values);
  const size_t outside = values.size() / 4;
  const auto begin = values.begin() + static_cast<std::ptrdiff_t>(outside);
  const auto end = values.end() - static_cast<std::ptrdiff_t>(outside);
  return std::accumulate(begin, end, 0.0) / static_cast<double>(end - begin);
}

}  // namespace partita
