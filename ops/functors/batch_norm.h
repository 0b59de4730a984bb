// Batch normalization per channel, from shifted sums (docs/design.md 5.8).
//
//   s1 = sum(x - shift)   s2 = sum((x - shift)^2)   over the m elements of a group
//   mean' = s1 / m        variance = s2 / m - mean'^2        inverse = 1 / sqrt(variance + epsilon)
//   y = gamma * (x - shift - mean') * inverse + beta
//
// Sums are f64 for every type of x: s2 / m - mean'^2 loses twice the digits by which mean' exceeds the deviation. The
// coefficients of a channel are made once, in double; the loops over elements use the short functions below. Forward
// and backward decide about relu with the very same NormalizeElement, so their masks agree bitwise (all files that use
// it are compiled without contraction of multiply and add).
#ifndef PARTITA_OPS_FUNCTORS_BATCH_NORM_H_
#define PARTITA_OPS_FUNCTORS_BATCH_NORM_H_

#include <cmath>
#include <cstdint>

#include "ops/functors/relu.h"
#include "runtime/base/philox.h"

namespace partita {

struct BatchMoments {
  double shifted_mean = 0;  // mean'
  double variance = 0;
};

PARTITA_HOST_DEVICE inline BatchMoments MakeBatchMoments(double s1, double s2, double count) {
  const double mean = s1 / count;
  const double variance = s2 / count - mean * mean;
  return {mean, variance < 0 ? 0 : variance};  // rounding may leave a constant channel slightly negative
}

// y = (x - mean) * scale + beta, with `mean` rounded to T. What the rounding takes away counts as well, where the mean
// is large against the deviation: it is in `beta`.
template <typename T>
struct NormalizeCoefficients {
  T mean, scale, beta;
};

template <typename T>
PARTITA_HOST_DEVICE inline NormalizeCoefficients<T> MakeNormalizeCoefficients(double mean, double variance,
                                                                              double epsilon, double gamma,
                                                                              double beta) {
  const double scale = gamma / std::sqrt(variance + epsilon);
  const T rounded = static_cast<T>(mean);
  return {rounded, static_cast<T>(scale), static_cast<T>(beta - (mean - rounded) * scale)};
}

template <typename T>
PARTITA_HOST_DEVICE inline T NormalizeElement(T x, T mean, T scale, T beta) {
  return (x - mean) * scale + beta;
}

// The cotangent behind the fused relu: 0 where the normalised value is not positive.
template <typename T>
PARTITA_HOST_DEVICE inline T NormalizedCotangent(T x, T dy, T mean, T scale, T beta, bool relu) {
  return relu ? Relu::Gradient(dy, NormalizeElement(x, mean, scale, beta)) : dy;
}

// What a group and channel give to the gradients, from a = sum(dy) and b = sum(dy * (x - mean)).
struct BatchNormGradient {
  double ds1 = 0, ds2 = 0, dgamma = 0, dbeta = 0;
};

PARTITA_HOST_DEVICE inline BatchNormGradient MakeBatchNormGradient(double a, double b, const BatchMoments& moments,
                                                                   double count, double epsilon, double gamma) {
  const double inverse = 1 / std::sqrt(moments.variance + epsilon);
  BatchNormGradient result;
  result.dbeta = a;
  result.dgamma = b * inverse;
  const double dvariance = -0.5 * gamma * inverse * inverse * result.dgamma;
  const double dmean = -gamma * inverse * a;
  result.ds1 = (dmean - 2 * moments.shifted_mean * dvariance) / count;
  result.ds2 = dvariance / count;
  return result;
}

// The part of dx that flows through the statistics, ds1 + 2 (x - shift) ds2, as (x - near) * slope + offset: where
// `near` is a number near x, a large shift cancels in double, once for all elements.
template <typename T>
struct StatisticsGradCoefficients {
  T near, slope, offset;
};

template <typename T>
PARTITA_HOST_DEVICE inline StatisticsGradCoefficients<T> MakeStatisticsGradCoefficients(T near, double shift,
                                                                                        double ds1, double ds2) {
  return {near, static_cast<T>(2 * ds2), static_cast<T>(ds1 + 2 * (near - shift) * ds2)};
}

template <typename T>
PARTITA_HOST_DEVICE inline T StatisticsGradElement(T x, T near, T slope, T offset) {
  return (x - near) * slope + offset;
}

// running = (1 - momentum) * running + momentum * value
template <typename T>
PARTITA_HOST_DEVICE inline T RunningAverage(T running, T value, T momentum) {
  return (T(1) - momentum) * running + momentum * value;
}

// The unbiased variance; that of a single element is 0.
PARTITA_HOST_DEVICE inline double UnbiasedVariance(double variance, double count) {
  return count > 1 ? variance * (count / (count - 1)) : variance;
}

// Small batch norms: a GPU computes them in one launch forward and one backward.
//
// A block reads all rows of a few channels and keeps them in registers until it has their statistics. It moves at least
// a sector of 32 bytes of each row, so 4096 rows keep one multiprocessor busy for 1 to 2 us a tensor, about as long as
// the launch that is saved takes. Larger batch norms need more blocks than there are groups of channels.
inline constexpr int64_t kSmallBatchNormRows = 4096;
// Of one channel: 256 threads of 255 registers keep four such channels of two tensors.
inline constexpr int64_t kSmallBatchNormBytes = 16 * 1024;

// `rows`: of channels, all that the rank holds, in whichever number of groups.
inline bool IsSmallBatchNorm(int64_t rows, int64_t element_bytes) {
  return rows <= kSmallBatchNormRows && rows * element_bytes <= kSmallBatchNormBytes;
}

}  // namespace partita

#endif  // PARTITA_OPS_FUNCTORS_BATCH_NORM_H_
