// Attention (docs/papers.md 11.14), additive with a normalised scorer (Bahdanau et al. 2015) and by scaled products.
//
// Additive: what the units of the scorer make of a query and a key. Of z = query + key + bias, unit by unit, a =
// tanh(z); the score is the sum of w a over all units, with the weights w = gain v / |v|. Scores become probabilities
// by ops/functors/softmax.h.
//
// By products (Vaswani et al. 2017): the sizes, and which keys a query sees.
//   query [n,q,h,d], keys [n,k,g,d], values [n,k,g,c], bias [n,h,q,k] -> output [n,q,h,c], lse [n,h,q]
// A group of keys and values serves several consecutive heads of the query (Ainslie et al. 2023). lse is the logarithm
// of the sum of exponentials of a query's scores, from which the gradient recomputes probabilities: e^(score - lse).
#ifndef PARTITA_OPS_FUNCTORS_ATTENTION_H_
#define PARTITA_OPS_FUNCTORS_ATTENTION_H_

#include <cmath>
#include <cstdint>

#include "ops/functors/geometry.h"
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

// What is added to scores: the distance of two samples, heads, queries or keys in it; 0: the same for all of them.
struct ScoreBias {
  int64_t sample = 0, head = 0, query = 0, key = 0;

  PARTITA_HOST_DEVICE int64_t At(int64_t n, int64_t h, int64_t i, int64_t k) const {
    return n * sample + h * head + i * query + k * key;
  }
};

// A rank's share of a node. Offsets say where the share begins in the whole node.
struct DotProductSizes {
  int64_t samples = 0, queries = 0, keys = 0;
  int64_t heads = 0, groups = 0;
  int64_t depth = 0;     // of a head's query and keys
  int64_t channels = 0;  // of a head's values
  int64_t heads_of_group = 1;
  int64_t first_query = 0, first_head = 0, first_group = 0;
  bool causal = false;                                       // query i of the whole node sees keys 0 to i
  double scale = 1;                                          // of the product of query and key
  ScoreBias bias;                                            // where there is one
  int64_t first_sample = 0, all_heads = 0, all_queries = 0;  // of the batch and of the whole node

  PARTITA_HOST_DEVICE int64_t rows() const { return samples * heads * queries; }

  PARTITA_HOST_DEVICE int64_t GroupOf(int64_t head) const { return (first_head + head) / heads_of_group - first_group; }
  // The heads of a group that are in the share.
  PARTITA_HOST_DEVICE IndexRange HeadsOf(int64_t group) const {
    const int64_t first = (first_group + group) * heads_of_group - first_head;
    return {Larger(0, first), Smaller(heads, first + heads_of_group)};
  }
  // A query sees the first keys of its sample: this number, of `length` that are valid.
  PARTITA_HOST_DEVICE int64_t KeysSeen(int64_t query, int64_t length) const {
    return causal ? Smaller(length, first_query + query + 1) : length;
  }
  // The first query that sees a key.
  PARTITA_HOST_DEVICE int64_t FirstQueryOf(int64_t key) const { return causal ? Larger(0, key - first_query) : 0; }

  // The global index of a query's score with key 0, by which dropout draws; those of the other keys follow it.
  PARTITA_HOST_DEVICE uint64_t ScoreIndex(int64_t sample, int64_t head, int64_t query) const {
    const int64_t row = ((first_sample + sample) * all_heads + first_head + head) * all_queries + first_query + query;
    return static_cast<uint64_t>(row) * static_cast<uint64_t>(keys);
  }

  // Rows of d or c elements, and numbers of lse.
  PARTITA_HOST_DEVICE int64_t QueryRow(int64_t sample, int64_t query, int64_t head) const {
    return (sample * queries + query) * heads + head;
  }
  PARTITA_HOST_DEVICE int64_t KeyRow(int64_t sample, int64_t key, int64_t group) const {
    return (sample * keys + key) * groups + group;
  }
  PARTITA_HOST_DEVICE int64_t LseAt(int64_t sample, int64_t query, int64_t head) const {
    return (sample * heads + head) * queries + query;
  }
};

}  // namespace partita

#endif  // PARTITA_OPS_FUNCTORS_ATTENTION_H_
