#include "runtime/base/median.h"

#include <algorithm>

#include "runtime/base/check.h"

namespace partita {

double Median(std::vector<double> values) {
  CHECK(!values.empty());
  std::ranges::sort(values);
  const size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

}  // namespace partita
