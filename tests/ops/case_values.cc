// What the inputs of a case hold.
#include <cmath>
#include <random>

#include "tests/ops/op_cases.h"

namespace partita {
namespace {

double Draw(std::mt19937_64& generator, double low, double high) {
  return low + (high - low) * static_cast<double>(generator() >> 11) * 0x1p-53;
}

}  // namespace

std::vector<double> CaseValues(const CaseInput& input, uint64_t seed) {
  std::mt19937_64 generator(seed);
  const size_t count = static_cast<size_t>(Elements(input.type.shape));
  std::vector<double> values(count);
  if (input.fill == Fill::kSpread) {
    std::vector<size_t> order(count);
    for (size_t i = 0; i < count; ++i) order[i] = i;
    for (size_t i = count; i > 1; --i) std::swap(order[i - 1], order[generator() % i]);
    const double step = (input.high - input.low) / static_cast<double>(count);
    for (size_t i = 0; i < count; ++i) values[i] = input.low + step * (static_cast<double>(order[i]) + 0.25);
  } else if (input.fill == Fill::kStatistics) {
    const size_t channels = static_cast<size_t>(input.type.shape[2]);
    for (size_t i = 0; i < count; ++i) {
      const bool squares = i / channels % 2 == 1;
      values[i] = input.high * (squares ? Draw(generator, 1, 2) : Draw(generator, -0.5, 0.5));
    }
  } else {
    for (double& value : values) value = Draw(generator, input.low, input.high);
    if (input.fill == Fill::kIntegers) {
      for (double& value : values) value = std::floor(value);
    }
  }
  return values;
}

}  // namespace partita
