#include "ops/cuda/launch/reductions.h"
#include "ops/cuda/launch/sampled_softmax.h"
#include "ops/cuda/loops/elementwise.h"
#include "ops/cuda/loops/labels.h"
#include "ops/cuda/loops/rows/count_body.h"
#include "ops/functors/sampled_softmax.h"

namespace partita::launch {
namespace {

struct DrawBody {
  LogUniform uniform;
  uint64_t key;
  const int32_t* iteration;
  int32_t* drawn;
  PARTITA_HOST_DEVICE void operator()(int64_t k) const {
    drawn[k] = static_cast<int32_t>(uniform.Draw(key, static_cast<uint64_t>(*iteration), k));
  }
};

// Whether a draw is the first of its class.
struct FreshBody : CountBody<FreshBody> {
  const int32_t* drawn;
  int32_t* fresh;
  PARTITA_HOST_DEVICE int64_t End(int64_t own) const { return own; }
  PARTITA_HOST_DEVICE bool Counts(int64_t k, int64_t own) const { return drawn[k] == drawn[own]; }
  PARTITA_HOST_DEVICE void Store(int64_t own, int64_t before) const { fresh[own] = before == 0 ? 1 : 0; }
};

struct NoneBody {
  int32_t *ids, *draws;
  int32_t most;
  PARTITA_HOST_DEVICE void operator()(int64_t i) const {
    ids[i] = -1;
    if (i == 0) *draws = most;
  }
};

// A fresh draw is the sample behind the fresh ones before it.
struct TakeBody : CountBody<TakeBody> {
  const int32_t *drawn, *fresh;
  int64_t samples;
  int32_t *ids, *draws;
  PARTITA_HOST_DEVICE int64_t End(int64_t own) const { return own; }
  PARTITA_HOST_DEVICE bool Counts(int64_t k, int64_t) const { return fresh[k] != 0; }
  PARTITA_HOST_DEVICE void Store(int64_t own, int64_t before) const {
    if (fresh[own] == 0 || before >= samples) return;
    ids[before] = drawn[own];
    if (before == samples - 1) *draws = static_cast<int32_t>(own + 1);
  }
};

template <typename T>
PARTITA_HOST_DEVICE T CorrectionOf(const LogUniform& uniform, int64_t c, const int32_t* draws) {
  return static_cast<T>(std::log(uniform.Expected(c, static_cast<double>(*draws))));
}

template <typename T>
struct CorrectBody {
  LogUniform uniform;
  const int32_t *ids, *draws;
  T* corrections;
  PARTITA_HOST_DEVICE void operator()(int64_t i) const { corrections[i] = CorrectionOf<T>(uniform, ids[i], draws); }
};

template <typename T>
struct Largest {
  T value;
};

// A block for each row: its largest value, then its sum; what comes of these Derived says in Of.
template <typename T, typename Derived>
struct SampledBody {
  using FirstValue = Largest<T>;
  using SecondValue = double;
  LogUniform uniform;
  Labels<T> labels;
  const T *own, *logits, *corrections;
  const int32_t *ids, *draws;

  PARTITA_HOST_DEVICE SampledRow<T> Row(int64_t row) const {
    const int32_t label = labels.labels[row];
    return {own[row] - CorrectionOf<T>(uniform, label, draws), logits + row * labels.classes, ids, corrections, label};
  }
  PARTITA_HOST_DEVICE Largest<T> First(int64_t row, int thread) const {
    return {Row(row).Largest(thread, kBlockThreads, labels.classes)};
  }
  PARTITA_HOST_DEVICE void CombineFirst(Largest<T>& best, const Largest<T>& other) const {
    if (Exceeds(other.value, best.value)) best = other;
  }
  PARTITA_HOST_DEVICE double Second(int64_t row, int thread, const Largest<T>& largest) const {
    return Row(row).Exponentials(thread, kBlockThreads, labels.classes, largest.value);
  }
  PARTITA_HOST_DEVICE void CombineSecond(double& sum, double more) const { sum += more; }
  PARTITA_HOST_DEVICE void Finish(int64_t row, int thread, const Largest<T>& largest, double sum) const {
    const SampledRow<T> values = Row(row);
    static_cast<const Derived&>(*this).Of(row, thread, values, LogTotal(values, largest.value, sum));
  }
};

template <typename T>
struct SampledLossBody : SampledBody<T, SampledLossBody<T>> {
  double* losses;
  PARTITA_HOST_DEVICE void Of(int64_t row, int thread, const SampledRow<T>& values, T total) const {
    if (thread == 0) losses[row] = static_cast<double>(this->labels.Weight(row) * (total - values.own));
  }
};

template <typename T>
struct SampledGradBody : SampledBody<T, SampledGradBody<T>> {
  const T* dloss;
  T *down, *dlogits;
  PARTITA_HOST_DEVICE void Of(int64_t row, int thread, const SampledRow<T>& values, T total) const {
    const T factor = *dloss * this->labels.Weight(row) / this->labels.divisor;
    if (thread == 0) down[row] = factor * (std::exp(values.own - total) - T(1));
    for (int64_t i = thread; i < this->labels.classes; i += kBlockThreads) {
      dlogits[row * this->labels.classes + i] = factor * values.Probability(i, total);
    }
  }
};

template <typename T>
LaunchError Correct(const SampledRows& rows, T* corrections, CudaQueue queue) {
  return ForEach(rows.labels.classes, CorrectBody<T>{rows.uniform, rows.ids, rows.draws, corrections}, queue);
}

// What all bodies have.
template <typename Body, typename T>
Body BodyOf(const SampledRows& rows, const T* corrections) {
  Body body{};
  body.uniform = rows.uniform;
  body.labels = LabelsOf<T>(rows.labels);
  body.own = As<T>(rows.own);
  body.logits = As<T>(rows.logits);
  body.corrections = corrections;
  body.ids = rows.ids;
  body.draws = rows.draws;
  return body;
}

}  // namespace

LaunchError DrawDifferent(const DifferentDraws& draws, int32_t* workspace, CudaQueue queue) {
  int32_t *const drawn = workspace, *const fresh = workspace + draws.most;
  LaunchError error = ForEach(draws.samples, NoneBody{draws.ids, draws.draws, static_cast<int32_t>(draws.most)}, queue);
  if (error == kLaunched)
    error = ForEach(draws.most, DrawBody{draws.uniform, draws.key, draws.iteration, drawn}, queue);
  if (error == kLaunched) error = ReduceRows(draws.most, FreshBody{{}, drawn, fresh}, queue);
  if (error != kLaunched) return error;
  return ReduceRows(draws.most, TakeBody{{}, drawn, fresh, draws.samples, draws.ids, draws.draws}, queue);
}

LaunchError SampledCrossEntropy(DType dtype, const SampledRows& rows, void* loss, double* workspace, CudaQueue queue) {
  double* const losses = workspace + rows.labels.classes;
  const LaunchError error = WithWide(dtype, [&]<typename T>() {
    T* const corrections = As<T>(static_cast<void*>(workspace));
    if (const LaunchError first = Correct(rows, corrections, queue); first != kLaunched) return first;
    auto body = BodyOf<SampledLossBody<T>>(rows, static_cast<const T*>(corrections));
    body.losses = losses;
    return ReduceRows(rows.labels.rows, body, queue);
  });
  return error != kLaunched ? error : SumOfDoubles(dtype, losses, rows.labels.rows, rows.labels.divisor, loss, queue);
}

LaunchError SampledCrossEntropyGrad(DType dtype, const SampledRows& rows, const void* dloss, void* down, void* dlogits,
                                    double* workspace, CudaQueue queue) {
  return WithWide(dtype, [&]<typename T>() {
    T* const corrections = As<T>(static_cast<void*>(workspace));
    if (const LaunchError first = Correct(rows, corrections, queue); first != kLaunched) return first;
    auto body = BodyOf<SampledGradBody<T>>(rows, static_cast<const T*>(corrections));
    body.dloss = As<T>(dloss);
    body.down = As<T>(down);
    body.dlogits = As<T>(dlogits);
    return ReduceRows(rows.labels.rows, body, queue);
  });
}

}  // namespace partita::launch
