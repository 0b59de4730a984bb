// What the launches of scaled dot-product attention read, and what their gradients are made of. For .cu files.
#ifndef PARTITA_OPS_CUDA_LOOPS_SEQUENCES_SCORES_H_
#define PARTITA_OPS_CUDA_LOOPS_SEQUENCES_SCORES_H_

#include <cmath>
#include <cstdint>
#include <initializer_list>

#include "ops/cuda/launch/dot_product_attention.h"
#include "ops/cuda/loops/divisor.h"
#include "ops/cuda/loops/elementwise.h"
#include "ops/cuda/loops/runs.h"
#include "ops/functors/dropout.h"

namespace partita::launch {

// The products of a row with others, `n` elements each, summed in their order: the row is loaded once for all of them.
// `packed`: all are read 16 bytes at a time.
template <int kOthers, typename T, typename A = Compute<T>>
PARTITA_HOST_DEVICE void Products(const T* row, const T* const (&others)[kOthers], int64_t n, bool packed,
                                  A (&sums)[kOthers]) {
  constexpr int kRun = kPackWidth<T>;
  for (A& sum : sums) sum = 0;
  if (!packed) {
    for (int64_t i = 0; i < n; ++i) {
      for (int o = 0; o < kOthers; ++o) sums[o] += static_cast<A>(row[i]) * static_cast<A>(others[o][i]);
    }
    return;
  }
  for (int64_t i = 0; i < n; i += kRun) {
    A x[kRun], y[kRun];
    Widen(LoadRun<kRun>(row + i), x);
    for (int o = 0; o < kOthers; ++o) {
      Widen(LoadRun<kRun>(others[o] + i), y);
      for (int e = 0; e < kRun; ++e) sums[o] += x[e] * y[e];
    }
  }
}

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
  bool packed;  // rows are whole packs of 16 bytes: of these operands, and in gradients of all others

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
  PARTITA_HOST_DEVICE const T* QueryAt(const Pair& at) const { return query + at.query_row * s.depth; }
  PARTITA_HOST_DEVICE const T* KeyAt(const Pair& at) const { return keys + at.key_row * s.depth; }
  PARTITA_HOST_DEVICE const T* ValueAt(const Pair& at) const { return values + at.key_row * s.channels; }

  // `product`: of query and key.
  PARTITA_HOST_DEVICE A ScoreOf(A product, const Pair& at) const {
    const A score = scale * product;
    return bias == nullptr ? score : score + bias[at.bias_at];
  }
  PARTITA_HOST_DEVICE A Score(const Pair& at) const {
    return ScoreOf(Product(QueryAt(at), KeyAt(at), s.depth, packed), at);
  }
  // x, behind dropout.
  PARTITA_HOST_DEVICE A Kept(A x, const Pair& at) const {
    if (!drops) return x;
    DropoutStep step = dropout;
    if (iteration != nullptr) step.iteration = static_cast<uint64_t>(*iteration);
    return step.Of(x, at.index);
  }
  PARTITA_HOST_DEVICE static A Product(const T* x, const T* y, int64_t n, bool packed) {
    const T* const others[1] = {y};
    A sums[1];
    Products(x, others, n, packed, sums);
    return sums[0];
  }
};

// Whether rows of this number of elements can be read 16 bytes at a time.
template <typename T>
bool ArePacked(int64_t elements, std::initializer_list<const void*> rows) {
  if (elements % kPackWidth<T> != 0) return false;
  for (const void* row : rows) {
    if (!IsPackAligned(row)) return false;
  }
  return true;
}

template <typename T>
Operands<T> OperandsOf(const DotProductInputs& in) {
  using A = Compute<T>;
  const bool packed = ArePacked<T>(in.sizes.depth, {in.query, in.keys}) && ArePacked<T>(in.sizes.channels, {in.values});
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
          Divisor(in.sizes.heads_of_group),
          packed};
}

// Of a query: the mean of the gradients of its probabilities, weighted by them.
template <typename T>
struct MeanBody {
  using A = Compute<T>;
  DotProductSizes s;
  Divisor queries, heads;
  const T *doutput, *output;
  A* means;
  bool packed;

  PARTITA_HOST_DEVICE void operator()(int64_t index) const {
    const Divisor::Divided query = queries(index), head = heads(query.quotient);
    const int64_t at = s.QueryRow(head.quotient, query.rest, head.rest) * s.channels;
    means[index] = Operands<T>::Product(doutput + at, output + at, s.channels, packed);
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
  PARTITA_HOST_DEVICE const T* DoutputAt(const typename Operands<T>::Pair& at) const {
    return doutput + at.query_row * in.s.channels;
  }
  // `product`: of query and key; `dkept`: of the output's gradient and the value.
  PARTITA_HOST_DEVICE Made Of(A product, A dkept, const typename Operands<T>::Pair& at, int64_t lse_at) const {
    const A probability = std::exp(in.ScoreOf(product, at) - lse[lse_at]);
    return {in.Kept(probability, at), probability * (in.Kept(dkept, at) - means[lse_at])};
  }
  PARTITA_HOST_DEVICE Made Of(const typename Operands<T>::Pair& at, int64_t lse_at) const {
    return Of(Operands<T>::Product(in.QueryAt(at), in.KeyAt(at), in.s.depth, in.packed),
              Operands<T>::Product(DoutputAt(at), in.ValueAt(at), in.s.channels, in.packed), at, lse_at);
  }
};

}  // namespace partita::launch

#endif  // PARTITA_OPS_CUDA_LOOPS_SEQUENCES_SCORES_H_
