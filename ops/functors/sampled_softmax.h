// A softmax of few classes of many: how they are drawn, and what a row of logits then gives.
#ifndef PARTITA_OPS_FUNCTORS_SAMPLED_SOFTMAX_H_
#define PARTITA_OPS_FUNCTORS_SAMPLED_SOFTMAX_H_

#include <cmath>
#include <cstdint>
#include <limits>

#include "ops/functors/geometry.h"
#include "ops/functors/pairs.h"
#include "runtime/base/philox.h"

namespace partita {

// Classes drawn by how often they come where they are numbered from the most frequent on, as words are (Zipf's law):
//   P(c) = log((c + 2) / (c + 1)) / log(classes + 1)
// as TensorFlow's log-uniform candidate sampler, which draws until it has the requested number of distinct classes.
struct LogUniform {
  LogUniform() = default;
  explicit LogUniform(int64_t all) : classes(all), range(std::log1p(static_cast<double>(all))) {}

  // Of a number in [0, 1).
  PARTITA_HOST_DEVICE int64_t ClassAt(double uniform) const {
    return Smaller(static_cast<int64_t>(std::exp(uniform * range)) - 1, classes - 1);
  }
  // The k-th draw of a step.
  PARTITA_HOST_DEVICE int64_t Draw(uint64_t key, uint64_t iteration, int64_t k) const {
    return ClassAt(static_cast<double>(Uniform(key, iteration, static_cast<uint64_t>(k))));
  }
  PARTITA_HOST_DEVICE double Probability(int64_t c) const {
    return std::log1p(1 / (static_cast<double>(c) + 1)) / range;
  }
  // The expected count of the class among the distinct classes of this number of draws; less than 1.
  PARTITA_HOST_DEVICE double Expected(int64_t c, double draws) const {
    return -std::expm1(draws * std::log1p(-Probability(c)));
  }

  int64_t classes = 0;
  double range = 0;
};

// The number of draws that contain `count` distinct classes with near certainty; count is at most half of all classes.
inline int64_t MostDraws(const LogUniform& uniform, int64_t count) {
  const auto expected = [&uniform](double draws) {  // of classes begin .. 2 begin, which are nearly equally likely
    double sum = 0;
    for (int64_t begin = 0; begin < uniform.classes; begin = 2 * begin + 1) {
      const int64_t end = Smaller(2 * begin + 1, uniform.classes);
      sum += static_cast<double>(end - begin) * uniform.Expected(end - 1, draws);
    }
    return sum;
  };
  double draws = static_cast<double>(count);
  while (expected(draws) < static_cast<double>(count)) draws *= 1.25;
  return 2 * static_cast<int64_t>(draws) + 64;
}

// A row of a sampled softmax: the logit of its label and those of the samples, each less the logarithm of how often its
// class is expected among the samples (Jean et al. 2015, section 3); a sample that is the label counts nothing.
template <typename T>
struct SampledRow {
  T own;
  const T* logits;
  const int32_t* ids;
  const T* corrections;  // of each sample
  int32_t label;

  PARTITA_HOST_DEVICE T At(int64_t i) const {
    return ids[i] == label ? -std::numeric_limits<T>::infinity() : logits[i] - corrections[i];
  }
  // Over samples begin, begin + step, ...
  PARTITA_HOST_DEVICE T Largest(int64_t begin, int64_t step, int64_t count) const {
    T largest = own;
    for (int64_t i = begin; i < count; i += step) {
      if (Exceeds(At(i), largest)) largest = At(i);
    }
    return largest;
  }
  PARTITA_HOST_DEVICE double Exponentials(int64_t begin, int64_t step, int64_t count, T largest) const {
    double sum = 0;
    for (int64_t i = begin; i < count; i += step) sum += std::exp(At(i) - largest);
    return sum;
  }
  // `total`: the logarithm of the sum over the label and all samples.
  PARTITA_HOST_DEVICE T Probability(int64_t i, T total) const { return std::exp(At(i) - total); }
};

template <typename T>
PARTITA_HOST_DEVICE inline T LogTotal(const SampledRow<T>& row, T largest, double exponentials) {
  return largest + std::log(static_cast<T>(exponentials + std::exp(row.own - largest)));
}

}  // namespace partita

#endif  // PARTITA_OPS_FUNCTORS_SAMPLED_SOFTMAX_H_
