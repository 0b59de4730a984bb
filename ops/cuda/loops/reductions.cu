#include "ops/cuda/launch/reductions.h"
#include "ops/cuda/loops/column_sums.h"
#include "ops/cuda/loops/divisor.h"
#include "ops/cuda/loops/elementwise.h"
#include "ops/functors/squared_error.h"

namespace partita::launch {
namespace {

// An entry is nothing. kMasks: what is added up is what a relu lets through, and is stored on the way.
template <typename T, bool kMasks>
struct Quotients {
  static constexpr int kSums = 1, kBlocksTogether = 4;
  static constexpr bool kOverGroups = false;
  using Entry = char;
  ColumnChunks chunks;
  PitchedRows<const T> x[kMasks ? 2 : 1];  // and y of the relu
  PitchedRows<T> masked;
  bool packed;
  double divisor;
  DType to;
  void* y;

  PARTITA_HOST_DEVICE char Make(int64_t, int64_t) const { return 0; }

  PARTITA_HOST_DEVICE void Add(const ThreadPlace& place, const char*, Sums<1>* sums) const {
    if (packed) {
      Rows<true>(place, sums);
    } else {
      Rows<false>(place, sums);
    }
  }

  PARTITA_HOST_DEVICE void Finish(int64_t group, int64_t channel, const Sums<1>& sums) const {
    const int64_t i = group * chunks.channels + channel;
    const double value = sums.at[0] / divisor;
    if (to == DType::kF64) {
      As<double>(y)[i] = value;
    } else if (to == DType::kF32) {
      As<float>(y)[i] = static_cast<float>(value);
    } else {
      As<Bf16>(y)[i] = Bf16(value);
    }
  }

 private:
  template <bool kPacked>
  PARTITA_HOST_DEVICE void Rows(const ThreadPlace& place, Sums<1>* sums) const {
    Column<T> to{};
    if constexpr (kMasks) to = ColumnOf(masked, place);
    ForRows<kPacked, kMasks ? 2 : 4>(x, place, [&](const auto& in) {
      Channels<T> own = in[0];
      if constexpr (kMasks) own = StoreBehindRelu<kPacked>(in[0], in[1], place.count, to);
      for (int w = 0; w < kChannelsOfThread; ++w) sums[w].at[0] += static_cast<double>(own.at[w]);
    });
  }
};

// One block adds up everything.
template <typename T>
struct DoublesBody {
  using Value = double;
  const double* values;
  int64_t count;
  double divisor;
  T* y;

  template <int kLanes, int kDepth>
  PARTITA_HOST_DEVICE double Partial(int64_t, int, int depth) const {
    double sum = 0;
    for (int64_t i = depth; i < count; i += kDepth) sum += values[i];
    return sum;
  }
  PARTITA_HOST_DEVICE void Combine(double& sum, double more) const { sum += more; }
  template <int kLanes>
  PARTITA_HOST_DEVICE void Store(int64_t, int, double sum) const {
    *y = static_cast<T>(sum / divisor);
  }
};

// SummedRuns whose sizes are divided by fast.
struct DividedRuns {
  int count;
  Divisor size[SummedRuns::kMost];
  int64_t stride[SummedRuns::kMost];
  bool is_summed[SummedRuns::kMost];

  explicit DividedRuns(const SummedRuns& runs) : count(runs.count) {
    for (int r = 0; r < count; ++r) {
      size[r] = Divisor(runs.size[r]);
      stride[r] = runs.stride[r];
      is_summed[r] = runs.is_summed[r];
    }
  }

  // SummedRuns::First and Step.
  PARTITA_HOST_DEVICE int64_t Place(int64_t index, bool summed) const {
    int64_t place = 0;
    for (int r = count - 1; r >= 0; --r) {
      if (is_summed[r] != summed) continue;
      const Divisor::Divided at = size[r](index);
      place += at.rest * stride[r];
      index = at.quotient;
    }
    return place;
  }

  PARTITA_HOST_DEVICE int64_t SumOf(int64_t element) const {
    int64_t sum = 0, sums = 1;
    for (int r = count - 1; r >= 0; --r) {
      const Divisor::Divided at = size[r](element);
      element = at.quotient;
      if (is_summed[r]) continue;
      sum += at.rest * sums;
      sums *= size[r].by();
    }
    return sum;
  }
};

template <typename T>
struct RunsBody {
  using Value = double;
  DividedRuns runs;
  int64_t terms;
  const T* x;
  double divisor;
  Compute<T>* y;

  PARTITA_HOST_DEVICE double Sum(int64_t sum, int64_t term, int64_t step) const {
    const T* const first = x + runs.Place(sum, false);
    double total = 0;
    for (; term < terms; term += step) total += static_cast<double>(first[runs.Place(term, true)]);
    return total;
  }
  PARTITA_HOST_DEVICE void operator()(int64_t i) const { y[i] = static_cast<Compute<T>>(Sum(i, 0, 1) / divisor); }

  template <int kLanes, int kDepth>
  PARTITA_HOST_DEVICE double Partial(int64_t block, int, int depth) const {
    return Sum(block, depth, kDepth);
  }
  PARTITA_HOST_DEVICE void Combine(double& sum, double more) const { sum += more; }
  template <int kLanes>
  PARTITA_HOST_DEVICE void Store(int64_t block, int, double sum) const {
    y[block] = static_cast<Compute<T>>(sum / divisor);
  }
};

template <typename From, typename To>
struct ExpandBody {
  DividedRuns runs;
  const From* x;
  Compute<From> divisor;
  To* y;

  PARTITA_HOST_DEVICE void operator()(int64_t i) const {
    y[i] = static_cast<To>(static_cast<Compute<From>>(x[runs.SumOf(i)]) / divisor);
  }
};

// One column of squared errors. An entry is nothing.
template <typename T>
struct ErrorsBody {
  static constexpr int kSums = 1, kBlocksTogether = 4;
  static constexpr bool kOverGroups = false;
  using Entry = char;
  ColumnChunks chunks;
  const T *predictions, *targets, *weights;
  Divisor numbers;
  double divisor;
  T* loss;

  PARTITA_HOST_DEVICE char Make(int64_t, int64_t) const { return 0; }
  PARTITA_HOST_DEVICE void Add(const ThreadPlace& place, const char*, Sums<1>* sums) const {
    for (int row = place.row; row < place.end; row += place.step) {
      const int64_t i = place.first_row + row;
      const T weight = weights == nullptr ? T(1) : weights[numbers(i).quotient];
      sums[0].at[0] += SquaredError(predictions[i], targets[i], weight);
    }
  }
  PARTITA_HOST_DEVICE void Finish(int64_t, int64_t, const Sums<1>& sums) const {
    *loss = static_cast<T>(sums.at[0] / divisor);
  }
};

template <typename T>
struct ErrorsGradBody {
  const T *predictions, *targets, *weights, *dloss;
  Divisor numbers;
  double divisor;
  T* d;

  PARTITA_HOST_DEVICE void operator()(int64_t i) const {
    const T weight = weights == nullptr ? T(1) : weights[numbers(i).quotient];
    const T factor = SquaredErrorFactor(dloss == nullptr ? T(1) : *dloss, weight, divisor);
    d[i] = factor * (predictions[i] - targets[i]);
  }
};

}  // namespace

LaunchError SumOverRows(DType from, DType to, const ColumnChunks& chunks, const void* x, double divisor, void* y,
                        const SumScratch& scratch, CudaQueue queue) {
  if (!IsFloating(to)) return kInvalidLaunch;
  return WithFloating(from, [&]<typename T>() {
    const PitchedRows<const T> rows{As<T>(x), chunks.channels};
    return SumColumns(Quotients<T, false>{chunks, {rows}, {}, rows.packed(chunks.channels), divisor, to, y}, scratch,
                      queue);
  });
}

LaunchError SumBehindRelu(DType from, DType to, const ColumnChunks& chunks, const void* dy, const void* y, void* masked,
                          void* sums, const SumScratch& scratch, CudaQueue queue) {
  if (!IsFloating(to)) return kInvalidLaunch;
  return WithFloating(from, [&]<typename T>() {
    const PitchedRows<const T> rows{As<T>(dy), chunks.channels}, results{As<T>(y), chunks.channels};
    const PitchedRows<T> stored{As<T>(masked), chunks.channels};
    const bool packed =
        rows.packed(chunks.channels) && results.packed(chunks.channels) && stored.packed(chunks.channels);
    return SumColumns(Quotients<T, true>{chunks, {rows, results}, stored, packed, 1, to, sums}, scratch, queue);
  });
}

LaunchError SumOverRuns(DType dtype, const SummedRuns& runs, const void* x, double divisor, void* y, CudaQueue queue) {
  return WithFloating(dtype, [&]<typename T>() {
    const RunsBody<T> body{DividedRuns(runs), runs.terms, As<T>(x), divisor, As<Compute<T>>(y)};
    if (runs.terms <= kFewClasses) return ForEach(runs.sums, body, queue);
    return Reduce<1, kBlockThreads>(runs.sums, body, queue);
  });
}

template <typename From, typename To>
LaunchError Expand(const SummedRuns& runs, const void* x, double divisor, void* y, CudaQueue queue) {
  const ExpandBody<From, To> body{DividedRuns(runs), As<From>(x), static_cast<Compute<From>>(divisor), As<To>(y)};
  return ForEach(runs.elements(), body, queue);
}

LaunchError ExpandRuns(DType from, DType to, const SummedRuns& runs, const void* x, double divisor, void* y,
                       CudaQueue queue) {
  return WithFloating(to, [&]<typename To>() {
    return from == to ? Expand<To, To>(runs, x, divisor, y, queue)
                      : Expand<Compute<To>, To>(runs, x, divisor, y, queue);
  });
}

LaunchError MeanSquaredError(DType dtype, const SquaredErrors& errors, const ColumnChunks& chunks, void* loss,
                             const SumScratch& scratch, CudaQueue queue) {
  return WithWide(dtype, [&]<typename T>() {
    const ErrorsBody<T> body{chunks,
                             As<T>(errors.predictions),
                             As<T>(errors.targets),
                             As<T>(errors.weights),
                             Divisor(errors.numbers),
                             errors.divisor,
                             As<T>(loss)};
    return SumColumns(body, scratch, queue);
  });
}

LaunchError MeanSquaredErrorGrad(DType dtype, const SquaredErrors& errors, const void* dloss, void* d,
                                 CudaQueue queue) {
  return WithWide(dtype, [&]<typename T>() {
    const ErrorsGradBody<T> body{As<T>(errors.predictions),
                                 As<T>(errors.targets),
                                 As<T>(errors.weights),
                                 As<T>(dloss),
                                 Divisor(errors.numbers),
                                 errors.divisor,
                                 As<T>(d)};
    return ForEach(errors.elements(), body, queue);
  });
}

LaunchError SumOfDoubles(DType dtype, const double* values, int64_t count, double divisor, void* y, CudaQueue queue) {
  return WithWide(dtype, [&]<typename T>() {
    return Reduce<1, kBlockThreads>(1, DoublesBody<T>{values, count, divisor, As<T>(y)}, queue);
  });
}

}  // namespace partita::launch
