// What the launches of scaled dot-product attention read, and what their gradients are made of. For .cu files.
#ifndef PARTITA_OPS_CUDA_LOOPS_SEQUENCES_SCORES_H_
#define PARTITA_OPS_CUDA_LOOPS_SEQUENCES_SCORES_H_

#include <cmath>
#include <cstdint>

#include "ops/cuda/launch/dot_product_attention.h"
#include "ops/cuda/loops/divisor.h"
#include "ops/cuda/loops/elementwise.h"
#include "ops/functors/dropout.h"

namespace partita::launch {

template <typename T>
struct Operands {
  using A = Compute<T>;
  DotProductSizes s;
  A scale;
  const T *query, *keys, *values;
  const int32_t* lengths;
  const A* bias;
  bool drops;
  DropoutStep dropout;
  const int32_t* iteration;  // of dropout; null: 0
  Divisor heads_of_group;

  // Of the keys that there are, even if the length is invalid.
  PARTITA_HOST_DEVICE int64_t LengthOf(int64_t sample) const {
    return lengths == nullptr ? s.keys : Larger(0, Smaller(lengths[sample], s.keys));
  }
  PARTITA_HOST_DEVICE int64_t GroupOf(int64_t head) const {
    return heads_of_group(s.first_head + head).quotient - s.first_group;
  }
  // A query and a key: their rows, what is added to their product, and the index by which dropout draws.
  struct Pair {
    int64_t query_row, key_row, bias_at;
    uint64_t index;
  };
  PARTITA_HOST_DEVICE Pair PairOf(int64_t sample, int64_t head, int64_t group, int64_t query, int64_t key) const {
    return {s.QueryRow(sample, query, head), s.KeyRow(sample, key, group), s.bias.At(sample, head, query, key),
            s.ScoreIndex(sample, head, query) + static_cast<uint64_t>(key)};
  }
  PARTITA_HOST_DEVICE A Score(const Pair& at) const {
    const A score = scale * Product(query + at.query_row * s.depth, keys + at.key_row * s.depth, s.depth);
    return bias == nullptr ? score : score + bias[at.bias_at];
  }
  // x, behind dropout.
  PARTITA_HOST_DEVICE A Kept(A x, const Pair& at) const {
    if (!drops) return x;
    DropoutStep step = dropout;
    if (iteration != nullptr) step.iteration = static_cast<uint64_t>(*iteration);
    return step.Of(x, at.index);
  }
  PARTITA_HOST_DEVICE static A Product(const T* x, const T* y, int64_t n) {
    A sum = 0;
    for (int64_t i = 0; i < n; ++i) sum += static_cast<A>(x[i]) * static_cast<A>(y[i]);
    return sum;
  }
};

template <typename T>
Operands<T> OperandsOf(const DotProductInputs& in) {
  using A = Compute<T>;
  return {in.sizes,
          static_cast<A>(in.sizes.scale),
          As<T>(in.query),
          As<T>(in.keys),
          As<T>(in.values),
          in.lengths,
          As<A>(in.bias),
          in.dropout.rate > 0,
          {in.dropout.key, 0, DropoutThreshold(in.dropout.rate), 1 / (1 - in.dropout.rate)},
          in.dropout.iteration,
          Divisor(in.sizes.heads_of_group)};
}

// Of a query: the mean of the gradients of its probabilities, weighted by them.
template <typename T>
struct MeanBody {
  using A = Compute<T>;
  DotProductSizes s;
  Divisor queries, heads;
  const T *doutput, *output;
  A* means;

  PARTITA_HOST_DEVICE void operator()(int64_t index) const {
    const Divisor::Divided query = queries(index), head = heads(query.quotient);
    const int64_t at = s.QueryRow(head.quotient, query.rest, head.rest) * s.channels;
    means[index] = Operands<T>::Product(doutput + at, output + at, s.channels);
  }
};

// What the gradients of a query and a key are made of.
template <typename T>
struct ScoreGradients {
  using A = Compute<T>;
  Operands<T> in;
  const T* doutput;
  const A *lse, *means;

  struct Made {
    A probability, dscore;  // behind dropout; of the score
  };
  PARTITA_HOST_DEVICE Made Of(const typename Operands<T>::Pair& at, int64_t lse_at) const {
    const A probability = std::exp(in.Score(at) - lse[lse_at]);
    const int64_t channels = in.s.channels;
    const A d = Operands<T>::Product(doutput + at.query_row * channels, in.values + at.key_row * channels, channels);
    return {in.Kept(probability, at), probability * (in.Kept(d, at) - means[lse_at])};
  }
};

}  // namespace partita::launch

#endif  // PARTITA_OPS_CUDA_LOOPS_SEQUENCES_SCORES_H_
