#include <limits>

#include "ops/cuda/launch/attention.h"
#include "ops/cuda/launch/label_fault.h"
#include "ops/cuda/launch/reductions.h"
#include "ops/cuda/loops/elementwise.h"
#include "ops/functors/softmax.h"

namespace partita::launch {
namespace {

struct Nothing {};

// Of a scorer: the sums of v v and, of gradients, of v dw.
struct ScorerSums {
  double squares, products;
};

// One block, of which each thread takes every 256th unit: Derived says what a unit's gradient is (Dw), and what is made
// of the sums (Write).
template <typename A, typename Derived>
struct ScorerBody {
  using FirstValue = ScorerSums;
  using SecondValue = Nothing;
  const A *v, *gain;
  int64_t units;

  PARTITA_HOST_DEVICE ScorerSums First(int64_t, int thread) const {
    ScorerSums sums{0, 0};
    for (int64_t u = thread; u < units; u += kBlockThreads) {
      sums.squares += V(u) * V(u);
      sums.products += V(u) * derived().Dw(u);
    }
    return sums;
  }
  PARTITA_HOST_DEVICE void CombineFirst(ScorerSums& sums, const ScorerSums& more) const {
    sums.squares += more.squares;
    sums.products += more.products;
  }
  PARTITA_HOST_DEVICE Nothing Second(int64_t, int, const ScorerSums&) const { return {}; }
  PARTITA_HOST_DEVICE void CombineSecond(Nothing&, const Nothing&) const {}
  PARTITA_HOST_DEVICE void Finish(int64_t, int thread, const ScorerSums& sums, const Nothing&) const {
    for (int64_t u = thread; u < units; u += kBlockThreads) derived().Write(u, sums);
  }

  PARTITA_HOST_DEVICE double V(int64_t unit) const { return static_cast<double>(v[unit]); }
  PARTITA_HOST_DEVICE double Gain() const { return static_cast<double>(*gain); }

 private:
  PARTITA_HOST_DEVICE const Derived& derived() const { return static_cast<const Derived&>(*this); }
};

template <typename A>
struct WeightsBody : ScorerBody<A, WeightsBody<A>> {
  A* weights;

  PARTITA_HOST_DEVICE double Dw(int64_t) const { return 0; }
  PARTITA_HOST_DEVICE void Write(int64_t unit, const ScorerSums& sums) const {
    weights[unit] = static_cast<A>(ScoreWeight(this->V(unit), this->Gain(), sums.squares));
  }
};

// Sums of the parts become gradients.
template <typename A>
struct ScorerGradBody : ScorerBody<A, ScorerGradBody<A>> {
  const A* sums;
  A *dv, *dgain, *dbias;

  PARTITA_HOST_DEVICE double Dw(int64_t unit) const { return static_cast<double>(sums[unit]); }
  PARTITA_HOST_DEVICE void Write(int64_t unit, const ScorerSums& of) const {
    dv[unit] = static_cast<A>(ScorerGradient(this->V(unit), Dw(unit), this->Gain(), of.squares, of.products));
    dbias[unit] = sums[this->units + unit];
    if (unit == 0) *dgain = static_cast<A>(GainGradient(of.squares, of.products));
  }
};

// A block for each score or gradient of one: a sum, of which a thread takes every 256th term (Derived's Term of
// terms()), and Derived's Keep.
template <typename Derived>
struct SumOfTerms {
  using Value = double;
  Divisor places, queries;

  template <int kLanes, int kDepth>
  PARTITA_HOST_DEVICE double Partial(int64_t score, int, int depth) const {
    const int64_t row = places(score).quotient, sample = queries(row).quotient;
    const int64_t place = sample * places.by() + places(score).rest;
    double sum = 0;
    for (int64_t i = depth; i < derived().terms(); i += kDepth) sum += derived().Term(row, place, i);
    return sum;
  }
  PARTITA_HOST_DEVICE void Combine(double& sum, double more) const { sum += more; }
  template <int kLanes>
  PARTITA_HOST_DEVICE void Store(int64_t score, int, double sum) const {
    derived().Keep(score, sum);
  }

 private:
  PARTITA_HOST_DEVICE const Derived& derived() const { return static_cast<const Derived&>(*this); }
};

template <typename T>
struct ScoreBody : SumOfTerms<ScoreBody<T>> {
  using A = Compute<T>;
  int64_t units;
  const T *query, *keys;
  const A *bias, *weights;
  A* scores;

  PARTITA_HOST_DEVICE int64_t terms() const { return units; }
  PARTITA_HOST_DEVICE double Term(int64_t row, int64_t place, int64_t u) const {
    const A activation =
        ScoreActivation(static_cast<A>(query[row * units + u]), static_cast<A>(keys[place * units + u]), bias[u]);
    return static_cast<double>(weights[u] * activation);
  }
  PARTITA_HOST_DEVICE void Keep(int64_t score, double sum) const { scores[score] = static_cast<A>(sum); }
};

// The gradient of a probability.
template <typename T>
struct ProbabilityGradBody : SumOfTerms<ProbabilityGradBody<T>> {
  using A = Compute<T>;
  int64_t channels;
  const T *dcontext, *values;
  const A* probabilities;
  double* dprobabilities;

  PARTITA_HOST_DEVICE int64_t terms() const { return channels; }
  PARTITA_HOST_DEVICE double Term(int64_t row, int64_t place, int64_t c) const {
    return static_cast<double>(dcontext[row * channels + c]) * static_cast<double>(values[place * channels + c]);
  }
  PARTITA_HOST_DEVICE void Keep(int64_t score, double sum) const {
    dprobabilities[score] = probabilities[score] == A(0) ? 0 : sum;
  }
};

// Of a query: its scores become probabilities, 0 behind the sequence's end.
template <typename A>
struct ProbabilitiesBody {
  Divisor queries;
  int64_t places;
  const int32_t* lengths;
  uint64_t* fault;
  A* scores;

  PARTITA_HOST_DEVICE void operator()(int64_t row) const {
    A* const own = scores + row * places;
    const int64_t sample = queries(row).quotient, length = lengths == nullptr ? places : int64_t{lengths[sample]};
    const bool possible = IsClass(sample, static_cast<int32_t>(length), places + 1, fault);
    if (possible && length > 0) SoftmaxRow(own, own, length);
    const A rest = possible ? A(0) : std::numeric_limits<A>::quiet_NaN();
    for (int64_t k = possible ? length : 0; k < places; ++k) own[k] = rest;
  }
};

// Of a query: gradients of probabilities become those of scores.
template <typename A>
struct ScoresGradBody {
  int64_t places;
  const A* probabilities;
  double* gradients;

  PARTITA_HOST_DEVICE void operator()(int64_t row) const {
    ScoreGradients(probabilities + row * places, gradients + row * places, places);
  }
};

// Sums of what probabilities weigh: a channel of a query's context, which is one over the places of its sample, or of
// the gradient of a place's value, over the queries.
template <typename T>
struct WeighedSumBody {
  using A = Compute<T>;
  Divisor channels, of_sample;       // queries or places
  int64_t terms;                     // of a sum
  int64_t of_each, of_term, of_all;  // strides of probabilities: of queries or places, of terms, of samples
  const A* probabilities;
  const T* rows;  // of the terms
  T* sums;

  PARTITA_HOST_DEVICE void operator()(int64_t index) const {
    const Divisor::Divided at = channels(index), each = of_sample(at.quotient);
    const A* const p = probabilities + each.quotient * of_all + each.rest * of_each;
    const T* const row = rows + each.quotient * terms * channels.by() + at.rest;
    double sum = 0;
    for (int64_t i = 0; i < terms; ++i) {
      if (p[i * of_term] == A(0)) continue;  // what lies behind a sequence's end
      sum += static_cast<double>(p[i * of_term]) * static_cast<double>(row[i * channels.by()]);
    }
    sums[index] = static_cast<T>(sum);
  }
};

// What the gradients of a query and of a key are made of.
template <typename T>
struct UnitGradients {
  using A = Compute<T>;
  const T *query, *keys;
  const A *bias, *weights;
  const double* dscores;

  struct Made {
    double dz, dweight;
  };
  PARTITA_HOST_DEVICE Made Of(int64_t query_at, int64_t key_at, int64_t unit, double dscore) const {
    const A activation = ScoreActivation(static_cast<A>(query[query_at]), static_cast<A>(keys[key_at]), bias[unit]);
    return {dscore * static_cast<double>(ScoreGradient(A(1), weights[unit], activation)),
            dscore * static_cast<double>(activation)};
  }
};

// A unit of a query.
template <typename T>
struct QueryGradBody {
  UnitGradients<T> gradients;
  Divisor units, queries;
  int64_t places;
  T* dquery;

  PARTITA_HOST_DEVICE void operator()(int64_t index) const {
    const Divisor::Divided at = units(index);
    const int64_t first = queries(at.quotient).quotient * places;
    double sum = 0;
    for (int64_t k = 0; k < places; ++k) {
      const double dscore = gradients.dscores[at.quotient * places + k];
      if (dscore == 0) continue;
      sum += gradients.Of(index, (first + k) * units.by() + at.rest, at.rest, dscore).dz;
    }
    dquery[index] = static_cast<T>(sum);
  }
};

// A unit of a key, with what its place adds to the gradients of weights and bias.
template <typename T>
struct KeyGradBody {
  UnitGradients<T> gradients;
  Divisor units, places;
  int64_t queries;
  T* dkeys;
  Compute<T>* parts;

  PARTITA_HOST_DEVICE void operator()(int64_t index) const {
    const Divisor::Divided at = units(index), place = places(at.quotient);
    const int64_t first = place.quotient * queries;
    double dz = 0, dweight = 0;
    for (int64_t row = first; row < first + queries; ++row) {
      const double dscore = gradients.dscores[row * places.by() + place.rest];
      if (dscore == 0) continue;
      const auto made = gradients.Of(row * units.by() + at.rest, index, at.rest, dscore);
      dz += made.dz;
      dweight += made.dweight;
    }
    dkeys[index] = static_cast<T>(dz);
    Compute<T>* const own = parts + at.quotient * 2 * units.by() + at.rest;
    own[0] = static_cast<Compute<T>>(dweight);
    own[units.by()] = static_cast<Compute<T>>(dz);
  }
};

template <typename A>
LaunchError Weigh(const AttentionInputs& in, void* weights, CudaQueue queue) {
  const WeightsBody<A> body{{As<A>(in.v), As<A>(in.gain), in.sizes.units}, As<A>(weights)};
  return ReduceRows(1, body, queue);
}

template <typename T>
UnitGradients<T> GradientsOf(const AttentionInputs& in, const AttentionGradients& to) {
  using A = Compute<T>;
  return {As<T>(in.query), As<T>(in.keys), As<A>(in.bias), As<A>(to.weights), As<double>(to.dscores)};
}

// Gradients of all scores, and of the values.
template <typename T>
LaunchError ScoresGrad(const AttentionInputs& in, const AttentionGradients& to, CudaQueue queue) {
  using A = Compute<T>;
  const AttentionSizes& s = in.sizes;
  ProbabilityGradBody<T> of_probabilities{};
  of_probabilities.places = Divisor(s.places);
  of_probabilities.queries = Divisor(s.queries);
  of_probabilities.channels = s.channels;
  of_probabilities.dcontext = As<T>(to.dcontext);
  of_probabilities.values = As<T>(in.values);
  of_probabilities.probabilities = As<A>(to.probabilities);
  of_probabilities.dprobabilities = As<double>(to.dscores);
  LaunchError error = Reduce<1, kBlockThreads>(s.scores(), of_probabilities, queue);
  if (error == kLaunched) {
    const ScoresGradBody<A> of_scores{s.places, As<A>(to.probabilities), As<double>(to.dscores)};
    error = ForEach(s.rows(), of_scores, queue);
  }
  if (error != kLaunched) return error;
  const WeighedSumBody<T> of_values{
      Divisor(s.channels),     Divisor(s.places),  s.queries,        1, s.places, s.queries * s.places,
      As<A>(to.probabilities), As<T>(to.dcontext), As<T>(to.dvalues)};
  return ForEach(s.samples * s.places * s.channels, of_values, queue);
}

template <typename T>
LaunchError UnitsGrad(const AttentionInputs& in, const AttentionGradients& to, CudaQueue queue) {
  const AttentionSizes& s = in.sizes;
  const Divisor units(s.units), queries(s.queries), places(s.places);
  const QueryGradBody<T> of_query{GradientsOf<T>(in, to), units, queries, s.places, As<T>(to.dquery)};
  const LaunchError error = ForEach(s.rows() * s.units, of_query, queue);
  if (error != kLaunched) return error;
  const KeyGradBody<T> of_keys{GradientsOf<T>(in, to),  units, places, s.queries, As<T>(to.dkeys),
                               As<Compute<T>>(to.parts)};
  return ForEach(s.samples * s.places * s.units, of_keys, queue);
}

template <typename A>
LaunchError ScorerGrad(DType dtype, const AttentionInputs& in, const AttentionGradients& to, CudaQueue queue) {
  const DType wide = AccumulatorOf(dtype);
  const LaunchError error = SumOverRows(wide, wide, ChunksOfParts(in.sizes), to.parts, 1, to.sums, to.scratch, queue);
  if (error != kLaunched) return error;
  const ScorerGradBody<A> body{
      {As<A>(in.v), As<A>(in.gain), in.sizes.units}, As<A>(to.sums), As<A>(to.dv), As<A>(to.dgain), As<A>(to.dbias)};
  return ReduceRows(1, body, queue);
}

}  // namespace

LaunchError AttentionContext(DType dtype, const AttentionInputs& in, const AttentionOutputs& to, CudaQueue queue) {
  return WithFloating(dtype, [&]<typename T>() {
    using A = Compute<T>;
    const AttentionSizes& s = in.sizes;
    ScoreBody<T> scores{};
    scores.places = Divisor(s.places);
    scores.queries = Divisor(s.queries);
    scores.units = s.units;
    scores.query = As<T>(in.query);
    scores.keys = As<T>(in.keys);
    scores.bias = As<A>(in.bias);
    scores.weights = As<A>(to.weights);
    scores.scores = As<A>(to.probabilities);
    LaunchError error = Weigh<A>(in, to.weights, queue);
    if (error == kLaunched) error = Reduce<1, kBlockThreads>(s.scores(), scores, queue);
    if (error != kLaunched) return error;
    const ProbabilitiesBody<A> probabilities{Divisor(s.queries), s.places, to.lengths, to.fault,
                                             As<A>(to.probabilities)};
    error = ForEach(s.rows(), probabilities, queue);
    if (error != kLaunched) return error;
    const WeighedSumBody<T> context{
        Divisor(s.channels),  Divisor(s.queries),      s.places,         s.places,         1,
        s.queries * s.places, As<A>(to.probabilities), As<T>(in.values), As<T>(to.context)};
    return ForEach(s.rows() * s.channels, context, queue);
  });
}

LaunchError AttentionContextGrad(DType dtype, const AttentionInputs& in, const AttentionGradients& to,
                                 CudaQueue queue) {
  return WithFloating(dtype, [&]<typename T>() {
    LaunchError error = Weigh<Compute<T>>(in, to.weights, queue);
    if (error == kLaunched) error = ScoresGrad<T>(in, to, queue);
    if (error == kLaunched) error = UnitsGrad<T>(in, to, queue);
    return error == kLaunched ? ScorerGrad<Compute<T>>(dtype, in, to, queue) : error;
  });
}

}  // namespace partita::launch
