#include <limits>

#include "ops/cuda/launch/dot_product_attention.h"
#include "ops/cuda/launch/label_fault.h"
#include "ops/cuda/loops/elementwise.h"
#include "ops/cuda/loops/labels.h"
#include "ops/cuda/loops/sequences/score_steps.h"
#include "ops/cuda/loops/sequences/score_tiles.h"
#include "ops/cuda/loops/sequences/scores.h"
#include "ops/functors/pairs.h"

namespace partita::launch {
namespace {

// Columns of a step that a row sees: the first `seen` of all.
PARTITA_HOST_DEVICE inline int SeenOf(int64_t step, int64_t seen) {
  return static_cast<int>(Larger(0, Smaller(kScoreColumns, seen - step * kScoreColumns)));
}

// Whether a thread has all of its columns, so that it reads its row once for all of them.
PARTITA_HOST_DEVICE inline bool HasAllColumns(int begin, int end, int thread) {
  return begin <= ScoreLane(thread) && ScoreLane(thread) + (kLaneColumns - 1) * kScoreLanes < end;
}

// Rows are queries, columns keys.
template <typename T>
struct QueryRows {
  struct Tile : Tiling::Place {
    int64_t group, length, steps;
  };
  Operands<T> in;
  Tiling tiling;

  PARTITA_HOST_DEVICE Tile At(int64_t tile) const {
    const Tiling::Place place = tiling.At(tile);
    const int64_t length = in.LengthOf(place.sample);
    const int64_t last = Smaller(in.s.queries, place.first_row + kScoreRows) - 1;
    return {place, in.GroupOf(place.head), length, CeilDivide(in.s.KeysSeen(last, length), kScoreColumns)};
  }
  PARTITA_HOST_DEVICE static int64_t QueryOf(const Tile& at, int thread) { return at.first_row + ScoreRow(thread); }
  PARTITA_HOST_DEVICE int64_t RowOf(const Tile& at, int thread) const {
    return in.s.QueryRow(at.sample, QueryOf(at, thread), at.head);
  }
  PARTITA_HOST_DEVICE int64_t LseOf(const Tile& at, int thread) const {
    return in.s.LseAt(at.sample, QueryOf(at, thread), at.head);
  }
  PARTITA_HOST_DEVICE int64_t KeyOf(const Tile& at, int64_t step, int column) const {
    return in.s.KeyRow(at.sample, step * kScoreColumns + column, at.group);
  }
  PARTITA_HOST_DEVICE typename Operands<T>::Pair PairOf(const Tile& at, int64_t step, int thread, int column) const {
    return in.PairOf(at.sample, at.head, at.group, QueryOf(at, thread), step * kScoreColumns + column);
  }
  PARTITA_HOST_DEVICE typename Operands<T>::Pair PairOfLane(const Tile& at, int64_t step, int thread, int c) const {
    return PairOf(at, step, thread, ScoreLane(thread) + c * kScoreLanes);
  }
  // Columns of a step that the thread's query sees; none of a query that is none.
  PARTITA_HOST_DEVICE int Seen(const Tile& at, int64_t step, int thread) const {
    const int64_t query = QueryOf(at, thread);
    return query < in.s.queries ? SeenOf(step, in.s.KeysSeen(query, at.length)) : 0;
  }
};

// The mean of the values. Exponentials are taken relative to the largest score so far.
template <typename T>
struct OutputBody : QueryRows<T> {
  using A = Compute<T>;
  using Tile = typename QueryRows<T>::Tile;
  static constexpr bool kWeighs = true;
  struct Memory {
    ScoreTile<A> scores, weights, kept;  // weights behind dropout
  };
  struct Sums {
    A largest = -std::numeric_limits<A>::infinity(), exponentials = 0;
    A correction = 1;  // of what was summed up before the step
    A values[kLaneSums] = {};
  };
  T* output;
  A* lse;
  uint64_t* fault;

  PARTITA_HOST_DEVICE void Score(const Tile& at, int64_t step, int thread, Memory& memory) const {
    const int seen = this->Seen(at, step, thread);
    A* const scores = memory.scores.at[ScoreRow(thread)];
    if (HasAllColumns(0, seen, thread)) {
      const T* keys[kLaneColumns];
      A products[kLaneColumns];
      for (int c = 0; c < kLaneColumns; ++c) keys[c] = this->in.KeyAt(this->PairOfLane(at, step, thread, c));
      Products(this->in.QueryAt(this->PairOfLane(at, step, thread, 0)), keys, this->in.s.depth, this->in.packed,
               products);
      for (int c = 0; c < kLaneColumns; ++c) {
        scores[ScoreLane(thread) + c * kScoreLanes] =
            this->in.ScoreOf(products[c], this->PairOfLane(at, step, thread, c));
      }
      return;
    }
    for (int k = ScoreLane(thread); k < seen; k += kScoreLanes) {
      scores[k] = this->in.Score(this->PairOf(at, step, thread, k));
    }
  }
  PARTITA_HOST_DEVICE void Weigh(const Tile& at, int64_t step, int thread, Memory& memory, Sums& sums) const {
    const int seen = this->Seen(at, step, thread);
    if (seen == 0) return;
    const A* const scores = memory.scores.at[ScoreRow(thread)];
    const A before = sums.largest;
    for (int k = 0; k < seen; ++k) {
      if (Exceeds(scores[k], sums.largest)) sums.largest = scores[k];
    }
    // A bias may hide all keys so far: their weights are 0.
    const bool hidden = sums.largest == -std::numeric_limits<A>::infinity();
    sums.correction = hidden ? A(1) : std::exp(before - sums.largest);
    for (int k = ScoreLane(thread); k < seen; k += kScoreLanes) {
      const A weight = hidden ? A(0) : std::exp(scores[k] - sums.largest);
      memory.weights.at[ScoreRow(thread)][k] = weight;
      memory.kept.at[ScoreRow(thread)][k] = this->in.Kept(weight, this->PairOf(at, step, thread, k));
    }
  }
  PARTITA_HOST_DEVICE void Add(const Tile& at, int64_t step, int thread, const Memory& memory, Sums& sums) const {
    const int seen = this->Seen(at, step, thread);
    if (seen == 0) return;
    const A *const weights = memory.weights.at[ScoreRow(thread)], *const kept = memory.kept.at[ScoreRow(thread)];
    const LaneChannels<T> lane(at.first_channel, thread, this->in.s.channels, this->in.packed);
    sums.exponentials *= sums.correction;
    for (A& value : sums.values) value *= sums.correction;
    for (int k = 0; k < seen; ++k) {
      sums.exponentials += weights[k];
      lane.Add(kept[k], this->in.values + this->KeyOf(at, step, k) * lane.channels, sums.values);
    }
  }
  PARTITA_HOST_DEVICE void Finish(const Tile& at, int thread, const Sums& sums) const {
    if (this->QueryOf(at, thread) >= this->in.s.queries) return;
    const int32_t* const length = this->in.lengths == nullptr ? nullptr : this->in.lengths + at.sample;
    const bool possible = length == nullptr || IsClass(at.sample, *length, this->in.s.keys + 1, nullptr);
    if (!possible && thread == 0) IsClass(at.sample, *length, this->in.s.keys + 1, fault);
    const A rest = possible ? A(0) : static_cast<A>(kNaN);  // where no key is seen
    const bool seen = possible && sums.exponentials != 0;
    const LaneChannels<T> lane(at.first_channel, thread, this->in.s.channels, this->in.packed);
    A means[kLaneSums];
    for (int c = 0; c < kLaneSums; ++c) means[c] = seen ? sums.values[c] / sums.exponentials : rest;
    lane.Store(means, output + this->RowOf(at, thread) * lane.channels);
    if (at.first_channel == 0 && ScoreLane(thread) == 0) {
      lse[this->LseOf(at, thread)] = seen ? sums.largest + std::log(sums.exponentials) : rest;
    }
  }
};

template <typename T>
struct QueryGradBody : QueryRows<T> {
  using A = Compute<T>;
  using Tile = typename QueryRows<T>::Tile;
  static constexpr bool kWeighs = false;
  struct Memory {
    ScoreTile<A> dproducts;
  };
  struct Sums {
    A values[kLaneSums] = {};
  };
  ScoreGradients<T> gradients;
  T* dquery;

  PARTITA_HOST_DEVICE void Score(const Tile& at, int64_t step, int thread, Memory& memory) const {
    const int seen = this->Seen(at, step, thread);
    A* const dproducts = memory.dproducts.at[ScoreRow(thread)];
    if (HasAllColumns(0, seen, thread)) {
      const auto pair = [&](int c) { return this->PairOfLane(at, step, thread, c); };
      const T *keys[kLaneColumns], *values[kLaneColumns];
      A products[kLaneColumns], dkept[kLaneColumns];
      for (int c = 0; c < kLaneColumns; ++c) keys[c] = this->in.KeyAt(pair(c));
      Products(this->in.QueryAt(pair(0)), keys, this->in.s.depth, this->in.packed, products);
      for (int c = 0; c < kLaneColumns; ++c) values[c] = this->in.ValueAt(pair(c));
      Products(gradients.DoutputAt(pair(0)), values, this->in.s.channels, this->in.packed, dkept);
      for (int c = 0; c < kLaneColumns; ++c) {
        dproducts[ScoreLane(thread) + c * kScoreLanes] =
            gradients.Of(products[c], dkept[c], pair(c), this->LseOf(at, thread)).dscore * this->in.scale;
      }
      return;
    }
    for (int k = ScoreLane(thread); k < seen; k += kScoreLanes) {
      dproducts[k] = gradients.Of(this->PairOf(at, step, thread, k), this->LseOf(at, thread)).dscore * this->in.scale;
    }
  }
  PARTITA_HOST_DEVICE void Add(const Tile& at, int64_t step, int thread, const Memory& memory, Sums& sums) const {
    const int seen = this->Seen(at, step, thread);
    const A* const dproducts = memory.dproducts.at[ScoreRow(thread)];
    const LaneChannels<T> lane(at.first_channel, thread, this->in.s.depth, this->in.packed);
    for (int k = 0; k < seen; ++k) {
      lane.Add(dproducts[k], this->in.keys + this->KeyOf(at, step, k) * lane.channels, sums.values);
    }
  }
  PARTITA_HOST_DEVICE void Finish(const Tile& at, int thread, const Sums& sums) const {
    if (this->QueryOf(at, thread) >= this->in.s.queries) return;
    const LaneChannels<T> lane(at.first_channel, thread, this->in.s.depth, this->in.packed);
    lane.Store(sums.values, dquery + this->RowOf(at, thread) * lane.channels);
  }
};

// Rows are keys of a group, columns the queries of its heads, one head after the other.
template <typename T>
struct KeyGradBody {
  using A = Compute<T>;
  static constexpr bool kWeighs = false;
  struct Tile : Tiling::Place {
    int64_t length, first_head, first_step;
    int32_t steps_of_head;
    int64_t steps;
  };
  struct Memory {
    ScoreTile<A> probabilities, dproducts;
  };
  struct Sums {
    A keys[kLaneSums] = {}, values[kLaneSums] = {};
  };
  Operands<T> in;
  Tiling tiling;
  ScoreGradients<T> gradients;
  T *dkeys, *dvalues;

  // Steps of a head begin with that of the first query which sees one of the keys.
  PARTITA_HOST_DEVICE Tile At(int64_t tile) const {
    const Tiling::Place place = tiling.At(tile);
    const IndexRange heads = in.s.HeadsOf(place.head);
    const int64_t length = in.LengthOf(place.sample), first = in.s.FirstQueryOf(place.first_row) / kScoreColumns;
    const int64_t steps = place.first_row < length ? CeilDivide(in.s.queries, kScoreColumns) - first : 0;
    return {place,
            length,
            heads.begin,
            first,
            static_cast<int32_t>(steps),
            steps <= 0 ? 0 : steps * Larger(0, heads.end - heads.begin)};
  }

  struct Columns {
    int64_t head, first_query;
    int begin, end;  // those that see the key
  };
  PARTITA_HOST_DEVICE Columns ColumnsOf(const Tile& at, int64_t step, int thread) const {
    const int32_t head = static_cast<int32_t>(step) / at.steps_of_head;
    const int64_t first = (at.first_step + static_cast<int32_t>(step) % at.steps_of_head) * kScoreColumns;
    const int64_t key = KeyOf(at, thread);
    const int64_t begin = Larger(0, in.s.FirstQueryOf(key) - first), end = Smaller(kScoreColumns, in.s.queries - first);
    return {at.first_head + head, first, static_cast<int>(Smaller(begin, kScoreColumns)),
            key < at.length ? static_cast<int>(end) : 0};
  }
  PARTITA_HOST_DEVICE static int64_t KeyOf(const Tile& at, int thread) { return at.first_row + ScoreRow(thread); }

  PARTITA_HOST_DEVICE void Score(const Tile& at, int64_t step, int thread, Memory& memory) const {
    const Columns columns = ColumnsOf(at, step, thread);
    const auto pair = [&](int i) {
      return in.PairOf(at.sample, columns.head, at.head, columns.first_query + i, KeyOf(at, thread));
    };
    const auto lse_at = [&](int i) { return in.s.LseAt(at.sample, columns.first_query + i, columns.head); };
    const auto keep = [&](int i, const typename ScoreGradients<T>::Made& made) {
      memory.probabilities.at[ScoreRow(thread)][i] = made.probability;
      memory.dproducts.at[ScoreRow(thread)][i] = made.dscore * in.scale;
    };
    const int lane = ScoreLane(thread);
    if (HasAllColumns(columns.begin, columns.end, thread)) {
      const T *queries[kLaneColumns], *doutputs[kLaneColumns];
      A products[kLaneColumns], dkept[kLaneColumns];
      for (int c = 0; c < kLaneColumns; ++c) queries[c] = in.QueryAt(pair(lane + c * kScoreLanes));
      Products(in.KeyAt(pair(lane)), queries, in.s.depth, in.packed, products);
      for (int c = 0; c < kLaneColumns; ++c) doutputs[c] = gradients.DoutputAt(pair(lane + c * kScoreLanes));
      Products(in.ValueAt(pair(lane)), doutputs, in.s.channels, in.packed, dkept);
      for (int c = 0; c < kLaneColumns; ++c) {
        const int i = lane + c * kScoreLanes;
        keep(i, gradients.Of(products[c], dkept[c], pair(i), lse_at(i)));
      }
      return;
    }
    for (int i = lane; i < columns.end; i += kScoreLanes) {
      if (i >= columns.begin) keep(i, gradients.Of(pair(i), lse_at(i)));
    }
  }
  PARTITA_HOST_DEVICE void Add(const Tile& at, int64_t step, int thread, const Memory& memory, Sums& sums) const {
    const Columns columns = ColumnsOf(at, step, thread);
    const LaneChannels<T> of_key(at.first_channel, thread, in.s.depth, in.packed);
    const LaneChannels<T> of_value(at.first_channel, thread, in.s.channels, in.packed);
    for (int i = columns.begin; i < columns.end; ++i) {
      const int64_t row = in.s.QueryRow(at.sample, columns.first_query + i, columns.head);
      of_key.Add(memory.dproducts.at[ScoreRow(thread)][i], in.query + row * of_key.channels, sums.keys);
      of_value.Add(memory.probabilities.at[ScoreRow(thread)][i], gradients.doutput + row * of_value.channels,
                   sums.values);
    }
  }
  PARTITA_HOST_DEVICE void Finish(const Tile& at, int thread, const Sums& sums) const {
    if (KeyOf(at, thread) >= in.s.keys) return;
    const int64_t row = in.s.KeyRow(at.sample, KeyOf(at, thread), at.head);
    const LaneChannels<T> of_key(at.first_channel, thread, in.s.depth, in.packed);
    const LaneChannels<T> of_value(at.first_channel, thread, in.s.channels, in.packed);
    of_key.Store(sums.keys, dkeys + row * of_key.channels);
    of_value.Store(sums.values, dvalues + row * of_value.channels);
  }
};

// The elements of one dimension that scores with index `own` of the bias have: this one, or all of them.
struct Summed {
  int64_t begin, end;
};
PARTITA_HOST_DEVICE inline Summed SummedOf(int64_t stride, int64_t own, int64_t all) {
  return stride == 0 ? Summed{0, all} : Summed{own, own + 1};
}

// A thread for each element of the bias adds up the gradients of all scores that it is added to, in their order.
template <typename T>
struct BiasGradBody {
  using A = Compute<T>;
  ScoreGradients<T> gradients;
  Divisor keys, queries, heads;  // that the bias tells apart
  A* dbias;

  PARTITA_HOST_DEVICE void operator()(int64_t index) const {
    const Divisor::Divided key = keys(index), query = queries(key.quotient), head = heads(query.quotient);
    const Operands<T>& in = gradients.in;
    const ScoreBias& bias = in.s.bias;
    const Summed samples = SummedOf(bias.sample, head.quotient, in.s.samples);
    const Summed of_heads = SummedOf(bias.head, head.rest, in.s.heads);
    const Summed of_queries = SummedOf(bias.query, query.rest, in.s.queries);
    const Summed of_keys = SummedOf(bias.key, key.rest, in.s.keys);
    A sum = 0;
    for (int64_t n = samples.begin; n < samples.end; ++n) {
      for (int64_t h = of_heads.begin; h < of_heads.end; ++h) {
        const int64_t group = in.GroupOf(h);
        for (int64_t i = of_queries.begin; i < of_queries.end; ++i) {
          const int64_t lse = in.s.LseAt(n, i, h);
          const int64_t end = Smaller(of_keys.end, in.s.KeysSeen(i, in.LengthOf(n)));
          for (int64_t k = of_keys.begin; k < end; ++k) {
            sum += gradients.Of(in.PairOf(n, h, group, i, k), lse).dscore;
          }
        }
      }
    }
    dbias[index] = sum;
  }
};

// What gradients are made of; fills the workspace.
template <typename T>
LaunchError MakeMeans(const ScoreGradients<T>& gradients, const DotProductGradients& to, CudaQueue queue) {
  using A = Compute<T>;
  const DotProductSizes& s = gradients.in.s;
  if (s.rows() == 0) return kLaunched;
  const MeanBody<T> means{s,
                          Divisor(s.queries),
                          Divisor(s.heads),
                          As<T>(to.doutput),
                          As<T>(to.output),
                          As<A>(to.means),
                          ArePacked<T>(s.channels, {to.doutput, to.output})};
  return ForEach(s.rows(), means, queue);
}

template <typename T>
ScoreGradients<T> GradientsOf(const DotProductInputs& in, const DotProductGradients& to) {
  using A = Compute<T>;
  Operands<T> operands = OperandsOf<T>(in);
  operands.packed = operands.packed && ArePacked<T>(in.sizes.channels, {to.doutput});
  return {operands, As<T>(to.doutput), As<A>(to.lse), As<A>(to.means)};
}

template <typename T>
LaunchError BiasGradient(const DotProductInputs& in, const DotProductGradients& to, int64_t elements, CudaQueue queue) {
  const ScoreGradients<T> gradients = GradientsOf<T>(in, to);
  if (const LaunchError error = MakeMeans(gradients, to, queue); error != kLaunched) return error;
  const DotProductSizes& s = in.sizes;
  const auto apart = [](int64_t stride, int64_t size) { return Divisor(stride == 0 ? 1 : Larger(1, size)); };
  const BiasGradBody<T> body{gradients, apart(s.bias.key, s.keys), apart(s.bias.query, s.queries),
                             apart(s.bias.head, s.heads), As<Compute<T>>(to.dbias)};
  return ForEach(elements, body, queue);
}

template <typename T>
LaunchError Gradients(const DotProductInputs& in, const DotProductGradients& to, CudaQueue queue) {
  const DotProductSizes& s = in.sizes;
  const ScoreGradients<T> gradients = GradientsOf<T>(in, to);
  const Operands<T>& operands = gradients.in;
  LaunchError error = MakeMeans(gradients, to, queue);
  if (error != kLaunched) return error;
  if (s.rows() > 0) {
    const QueryGradBody<T> of_query{
        {operands, Tiling(s.samples, s.heads, s.queries, s.depth)}, gradients, As<T>(to.dquery)};
    error = PassScores(of_query.tiling.tiles, of_query, queue);
    if (error != kLaunched) return error;
  }
  const KeyGradBody<T> of_keys{operands, Tiling(s.samples, s.groups, s.keys, Larger(s.depth, s.channels)), gradients,
                               As<T>(to.dkeys), As<T>(to.dvalues)};
  return PassScores(of_keys.tiling.tiles, of_keys, queue);
}

}  // namespace

LaunchError DotProductForward(DType dtype, const DotProductInputs& in, const DotProductOutputs& to, CudaQueue queue) {
  return WithFloating(dtype, [&]<typename T>() {
    const DotProductSizes& s = in.sizes;
    const OutputBody<T> body{{OperandsOf<T>(in), Tiling(s.samples, s.heads, s.queries, s.channels)},
                             As<T>(to.output),
                             As<Compute<T>>(to.lse),
                             to.fault};
    return PassScores(body.tiling.tiles, body, queue);
  });
}

LaunchError DotProductGrad(DType dtype, const DotProductInputs& in, const DotProductGradients& to, CudaQueue queue) {
  return WithFloating(dtype, [&]<typename T>() { return Gradients<T>(in, to, queue); });
}

LaunchError DotProductBiasGrad(DType dtype, const DotProductInputs& in, const DotProductGradients& to, int64_t elements,
                               CudaQueue queue) {
  return WithFloating(dtype, [&]<typename T>() { return BiasGradient<T>(in, to, elements, queue); });
}

}  // namespace partita::launch
