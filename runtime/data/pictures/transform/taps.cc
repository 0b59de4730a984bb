#include "runtime/data/pictures/transform/taps.h"

#include <algorithm>
#include <cmath>

namespace partita {
namespace {

constexpr int kOne = 1 << kTapBits;

// Rounded so that they sum to one: what is left over goes to the largest, where it matters least.
void AddWeights(const std::vector<double>& weights, double sum, std::vector<int16_t>& out) {
  const size_t begin = out.size();
  int left = kOne;
  for (const double weight : weights) {
    out.push_back(static_cast<int16_t>(weight / sum * kOne + 0.5));
    left -= out.back();
  }
  *std::max_element(out.begin() + static_cast<int64_t>(begin), out.end()) += static_cast<int16_t>(left);
}

}  // namespace

Taps TriangleTaps(int64_t in, int64_t out, int64_t begin, int64_t count) {
  const double scale = static_cast<double>(in) / static_cast<double>(out);
  const double support = std::max(scale, 1.0);
  Taps taps;
  std::vector<double> weights;
  for (int64_t i = begin; i < begin + count; ++i) {
    const double center = (static_cast<double>(i) + 0.5) * scale;
    const int64_t first = std::max<int64_t>(static_cast<int64_t>(center - support + 0.5), 0);
    const int64_t end = std::min(static_cast<int64_t>(center + support + 0.5), in);
    weights.clear();
    double sum = 0;
    for (int64_t pixel = first; pixel < end; ++pixel) {
      weights.push_back(std::max(0.0, 1 - std::abs((static_cast<double>(pixel) + 0.5 - center) / support)));
      sum += weights.back();
    }
    taps.outputs.push_back(
        {static_cast<int32_t>(first), static_cast<int32_t>(weights.size()), static_cast<int32_t>(taps.weights.size())});
    AddWeights(weights, sum, taps.weights);
  }
  return taps;
}

}  // namespace partita
