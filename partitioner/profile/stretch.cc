#include "partitioner/profile/stretch.h"

#include <algorithm>

#include "runtime/base/check.h"

namespace partita {

double StretchOf(double measured, double predicted, double compute) {
  CHECK(compute > 0);
  return std::max(1.0, 1 + (measured - predicted) / compute);
}

}  // namespace partita
