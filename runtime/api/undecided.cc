#include "runtime/api/undecided.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <vector>

namespace partita {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// How far the logit of `label` lies from the largest but `top` - 1 of all others; infinite if there are fewer.
double Gap(const double* logits, int64_t classes, int64_t label, int64_t top) {
  if (top >= classes) return kInfinity;
  std::vector<double> others;
  for (int64_t c = 0; c < classes; ++c) {
    if (c != label) others.push_back(logits[c]);
  }
  std::ranges::nth_element(others, others.begin() + (top - 1), std::greater());
  return std::abs(logits[label] - others[static_cast<size_t>(top - 1)]);
}

}  // namespace

double UndecidedAccuracy(const WholeValue& logits, const WholeValue& labels, const WholeValue* weights,
                         const CountedRows& counted, double margin) {
  const auto rows = static_cast<int64_t>(labels.elements.size()), classes = logits.shape.back();
  const int64_t rows_of_weight = weights == nullptr ? 1 : rows / static_cast<int64_t>(weights->elements.size());
  double undecided = 0, least = kInfinity;
  for (int64_t i = 0; i < rows; ++i) {
    const auto label = static_cast<int64_t>(labels.elements[static_cast<size_t>(i)]);
    if (label == counted.ignored) continue;
    const double weight = weights == nullptr ? 1 : std::abs(weights->elements[static_cast<size_t>(i / rows_of_weight)]);
    if (Gap(logits.elements.data() + i * classes, classes, label, counted.top) <= margin) undecided += weight;
    if (weight > 0) least = std::min(least, weight);
  }
  return (undecided + (least < kInfinity ? least / 4 : 0)) / counted.divisor;
}

}  // namespace partita
