#include "partitioner/profile/alpha_beta_fit.h"

#include <algorithm>

#include "runtime/base/check.h"

namespace partita {
namespace {

// Sums over the samples, each weighted by one over its squared time.
struct Moments {
  double weight = 0, x = 0, y = 0, xx = 0, xy = 0;
};

Moments MomentsOf(const std::vector<TimedBytes>& samples) {
  Moments sums;
  for (const TimedBytes& sample : samples) {
    CHECK(sample.seconds > 0);
    const double weight = 1 / (sample.seconds * sample.seconds);
    sums.weight += weight;
    sums.x += weight * sample.bytes;
    sums.y += weight * sample.seconds;
    sums.xx += weight * sample.bytes * sample.bytes;
    sums.xy += weight * sample.bytes * sample.seconds;
  }
  return sums;
}

AlphaBeta Line(const Moments& sums) {
  const double determinant = sums.weight * sums.xx - sums.x * sums.x;
  CHECK(determinant > 0);
  const AlphaBeta line{(sums.y * sums.xx - sums.x * sums.xy) / determinant,
                       (sums.weight * sums.xy - sums.x * sums.y) / determinant};
  if (line.alpha < 0) return {0, sums.xy / sums.xx};
  if (line.beta < 0) return {sums.y / sums.weight, 0};
  return line;
}

}  // namespace

AlphaBetaFit FitAlphaBeta(const std::vector<TimedBytes>& samples) {
  const Moments sums = MomentsOf(samples);
  const AlphaBeta line = Line(sums);
  const double mean = sums.y / sums.weight;
  double left = 0, all = 0;
  for (const TimedBytes& sample : samples) {
    const double weight = 1 / (sample.seconds * sample.seconds);
    const double error = sample.seconds - line.SecondsOf(sample.bytes), distance = sample.seconds - mean;
    left += weight * error * error;
    all += weight * distance * distance;
  }
  return {line, all > 0 ? 1 - left / all : 1};
}

}  // namespace partita
