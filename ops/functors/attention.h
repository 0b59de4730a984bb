// Additive attention with a normalised scorer (Bahdanau et al. 2015; docs/papers.md 11.14): what the units of the
// scorer make of a query and a key.
//
// Of z = query + key + bias, unit by unit, a = tanh(z); the score is the sum of w a over all units, with the weights
// w = gain v / |v|. Scores become probabilities by ops/functors/softmax.h.
#ifndef PARTITA_OPS_FUNCTORS_ATTENTION_H_
#define PARTITA_OPS_FUNCTORS_ATTENTION_H_

#include <cmath>
#include <cstdint>

#include "ops/functors/tanh.h"
#include "runtime/base/philox.h"

namespace partita {

// Sizes of a rank's share: each of the queries of a sample reads all places of it.
struct AttentionSizes {
  int64_t samples = 0, queries = 0, places = 0;
  int64_t units = 0;     // of the scorer
  int64_t channels = 0;  // of the values

  PARTITA_HOST_DEVICE int64_t rows() const { return samples * queries; }
  PARTITA_HOST_DEVICE int64_t scores() const { return rows() * places; }
};

// `squares` is the sum of v v over all units.
template <typename A>
PARTITA_HOST_DEVICE inline A ScoreWeight(A v, A gain, A squares) {
  return v * (gain / std::sqrt(squares));
}

template <typename A>
PARTITA_HOST_DEVICE inline A ScoreActivation(A query, A key, A bias) {
  return Tanh::Value(query + key + bias);
}

// The gradient of z, which is that of query, key and bias alike; that of w is dscore a.
template <typename A>
PARTITA_HOST_DEVICE inline A ScoreGradient(A dscore, A weight, A activation) {
  return Tanh::Gradient(dscore * weight, activation);
}

// Of a query, `d` from gradients of its probabilities to those of its scores. They are differences of numbers that are
// nearly equal while attention is not yet trained, so all is in double; and what rounding has left of the sum of the
// probabilities is divided by, or it would be taken for a gradient.
template <typename A>
PARTITA_HOST_DEVICE inline void ScoreGradients(const A* probabilities, double* d, int64_t places) {
  double sum = 0, total = 0;
  for (int64_t k = 0; k < places; ++k) {
    sum += static_cast<double>(probabilities[k]) * d[k];
    total += static_cast<double>(probabilities[k]);
  }
  const double mean = total == 0 ? 0 : sum / total;
  for (int64_t k = 0; k < places; ++k) d[k] = static_cast<double>(probabilities[k]) * (d[k] - mean);
}

// Of v and gain, from that of the weights; `products` is the sum of v dw over all units.
template <typename A>
PARTITA_HOST_DEVICE inline A ScorerGradient(A v, A dw, A gain, A squares, A products) {
  return gain / std::sqrt(squares) * (dw - v * (products / squares));
}
template <typename A>
PARTITA_HOST_DEVICE inline A GainGradient(A squares, A products) {
  return products / std::sqrt(squares);
}

}  // namespace partita

#endif  // PARTITA_OPS_FUNCTORS_ATTENTION_H_
