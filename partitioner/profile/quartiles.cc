#include "partitioner/profile/quartiles.h"

#include <algorithm>
#include <cmath>

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

}  // namespace partita
