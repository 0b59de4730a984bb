#include "runtime/api/undecided.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace partita {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// How far the logit of `label` lies from the largest other one.
double Gap(const double* logits, int64_t classes, int64_t label) {
  double other = -kInfinity;
  for (int64_t c = 0; c < classes; ++c) {
    if (c != label) other = std::max(other, logits[c]);
  }
  return std::abs(logits[label] - other);
}

}  // namespace

double UndecidedAccuracy(const WholeValue& logits, const WholeValue& labels, const WholeValue* weights, double count,
                         double margin) {
  const int64_t classes = logits.shape[1];
  double undecided = 0, least = kInfinity;
  for (int64_t i = 0; i < logits.shape[0]; ++i) {
    const double weight = weights == nullptr ? 1 : std::abs(weights->elements[i]);
    const auto label = static_cast<int64_t>(labels.elements[i]);
    if (Gap(logits.elements.data() + i * classes, classes, label) <= margin) undecided += weight;
    if (weight > 0) least = std::min(least, weight);
  }
  return (undecided + (least < kInfinity ? least / 4 : 0)) / count;
}

}  // namespace partita
