#include <cmath>
#include <limits>

#include "ops/cuda/elementwise.h"
#include "ops/cuda/labels.h"
#include "ops/cuda/reductions.h"
#include "ops/cuda/split_softmax.h"
#include "ops/functors/softmax.h"

namespace partita::launch {
namespace {

struct Nothing {};

// A block of threads per row: each takes some of the classes, Derived says of each what is taken and how two join.
template <typename T, typename Derived>
struct RowReduction {
  using FirstValue = double;
  using SecondValue = Nothing;
  const T* x;
  T* out;
  int64_t classes;

  PARTITA_HOST_DEVICE double First(int64_t row, int thread) const {
    double value = Derived::kNone;
    for (int64_t i = thread; i < classes; i += kBlockThreads) {
      Derived::Join(value, derived().Of(row, static_cast<double>(x[row * classes + i])));
    }
    return value;
  }
  PARTITA_HOST_DEVICE void CombineFirst(double& value, double more) const { Derived::Join(value, more); }
  PARTITA_HOST_DEVICE Nothing Second(int64_t, int, double) const { return {}; }
  PARTITA_HOST_DEVICE void CombineSecond(Nothing&, const Nothing&) const {}
  PARTITA_HOST_DEVICE void Finish(int64_t row, int thread, double value, const Nothing&) const {
    if (thread == 0) out[row] = static_cast<T>(derived().Result(row, value));
  }

 private:
  PARTITA_HOST_DEVICE const Derived& derived() const { return static_cast<const Derived&>(*this); }
};

template <typename T>
struct MaximumBody : RowReduction<T, MaximumBody<T>> {
  static constexpr double kNone = -std::numeric_limits<double>::infinity();
  PARTITA_HOST_DEVICE static void Join(double& value, double more) {
    if (Exceeds(more, value)) value = more;
  }
  PARTITA_HOST_DEVICE double Of(int64_t, double x) const { return x; }
  PARTITA_HOST_DEVICE double Result(int64_t, double value) const { return value; }
};

template <typename T, typename Derived>
struct SumBody : RowReduction<T, Derived> {
  static constexpr double kNone = 0;
  PARTITA_HOST_DEVICE static void Join(double& value, double more) { value += more; }
};

template <typename T>
struct ExponentialsBody : SumBody<T, ExponentialsBody<T>> {
  const T* maximum;
  PARTITA_HOST_DEVICE double Of(int64_t row, double x) const {
    return std::exp(static_cast<Compute<T>>(x - static_cast<double>(maximum[row])));
  }
  PARTITA_HOST_DEVICE double Result(int64_t, double value) const { return value; }
};

template <typename T>
struct NormalizeGradBody : SumBody<T, NormalizeGradBody<T>> {
  const T* sum;
  PARTITA_HOST_DEVICE double Of(int64_t, double dy) const { return dy; }
  PARTITA_HOST_DEVICE double Result(int64_t row, double value) const { return -value / static_cast<double>(sum[row]); }
};

template <typename T>
struct ExponentialsGradFunctor {
  const T *maximum, *dsum;
  PARTITA_HOST_DEVICE void operator()(const Place& at, const Compute<T>* x, Compute<T>* dx) const {
    dx[0] = std::exp(x[0] - maximum[at.row]) * dsum[at.row];
  }
};

template <typename T>
struct NormalizeFunctor {
  const T *maximum, *sum;
  PARTITA_HOST_DEVICE void operator()(const Place& at, const Compute<T>* x, Compute<T>* y) const {
    y[0] = x[0] - (maximum[at.row] + std::log(static_cast<Compute<T>>(sum[at.row])));
  }
};

template <typename T>
struct CrossEntropySharesBody {
  const T *logits, *maximum, *sum;
  Labels<T> labels;
  double* losses;

  PARTITA_HOST_DEVICE void operator()(int64_t row) const {
    losses[row] = kNaN;
    if (!labels.IsClass(row)) return;
    const T total = maximum[row] + std::log(sum[row]);
    const T share = CrossEntropyShare(logits + row * labels.classes, labels.classes, labels.Column(row),
                                      labels.all_classes, labels.smoothing, total);
    losses[row] = static_cast<double>(labels.Weight(row) * share);
  }
};

template <typename T>
struct CrossEntropyLogitsGradBody {
  Labels<T> labels;
  const Compute<T>* dloss;
  T* d;

  PARTITA_HOST_DEVICE void operator()(int64_t i) const {
    const int64_t row = i / labels.classes;
    const Compute<T> factor = labels.Factor(row, *dloss);
    d[i] = static_cast<T>(-factor *
                          SmoothedTarget(i % labels.classes, labels.Column(row), labels.all_classes, labels.smoothing));
  }
};

template <typename T>
struct CrossEntropySumGradBody {
  const T* sum;
  const Compute<T>*weights, *dloss;
  T* dsum;
  Compute<T> global_rows;

  PARTITA_HOST_DEVICE void operator()(int64_t row) const {
    const Compute<T> weight = weights == nullptr ? 1 : weights[row];
    dsum[row] = static_cast<T>(*dloss * weight / global_rows / sum[row]);
  }
};

}  // namespace

LaunchError RowMaximum(DType dtype, int64_t rows, int64_t classes, const void* x, void* maximum, CudaQueue queue) {
  return WithWide(dtype, [&]<typename T>() {
    return ReduceRows(rows, MaximumBody<T>{{As<T>(x), As<T>(maximum), classes}}, queue);
  });
}

LaunchError RowExponentials(DType dtype, int64_t rows, int64_t classes, const void* x, const void* maximum, void* sum,
                            CudaQueue queue) {
  return WithWide(dtype, [&]<typename T>() {
    return ReduceRows(rows, ExponentialsBody<T>{{{As<T>(x), As<T>(sum), classes}}, As<T>(maximum)}, queue);
  });
}

LaunchError RowExponentialsGrad(DType dtype, int64_t rows, int64_t classes, const void* x, const void* maximum,
                                const void* dsum, void* dx, CudaQueue queue) {
  return WithWide(dtype, [&]<typename T>() {
    const ExponentialsGradFunctor<T> f{As<T>(maximum), As<T>(dsum)};
    return ForElements<T, 1, 1>({As<T>(x)}, {As<T>(dx)}, {rows, classes}, f, queue);
  });
}

LaunchError LogSoftmaxNormalize(DType dtype, int64_t rows, int64_t classes, const void* x, const void* maximum,
                                const void* sum, void* y, CudaQueue queue) {
  return WithWide(dtype, [&]<typename T>() {
    const NormalizeFunctor<T> f{As<T>(maximum), As<T>(sum)};
    return ForElements<T, 1, 1>({As<T>(x)}, {As<T>(y)}, {rows, classes}, f, queue);
  });
}

LaunchError LogSoftmaxNormalizeGrad(DType dtype, int64_t rows, int64_t classes, const void* dy, const void* sum,
                                    void* dsum, CudaQueue queue) {
  return WithWide(dtype, [&]<typename T>() {
    return ReduceRows(rows, NormalizeGradBody<T>{{{As<T>(dy), As<T>(dsum), classes}}, As<T>(sum)}, queue);
  });
}

LaunchError CrossEntropyShares(DType dtype, const LabelledRows& rows, const void* maximum, const void* sum, void* loss,
                               double* workspace, CudaQueue queue) {
  const LaunchError error = WithWide(dtype, [&]<typename T>() {
    const CrossEntropySharesBody<T> body{As<T>(rows.logits), As<T>(maximum), As<T>(sum), LabelsOf<T>(rows), workspace};
    return ForEach(rows.rows, body, queue);
  });
  return error != kLaunched ? error : SumOfDoubles(dtype, workspace, rows.rows, rows.global_rows, loss, queue);
}

LaunchError CrossEntropyLogitsGrad(DType dtype, const LabelledRows& rows, const void* dloss, void* dlogits,
                                   CudaQueue queue) {
  return WithWide(dtype, [&]<typename T>() {
    const CrossEntropyLogitsGradBody<T> body{LabelsOf<T>(rows), As<Compute<T>>(dloss), As<T>(dlogits)};
    return ForEach(rows.rows * rows.classes, body, queue);
  });
}

LaunchError CrossEntropySumGrad(DType dtype, int64_t rows, double global_rows, const void* sum, const void* weights,
                                const void* dloss, void* dsum, CudaQueue queue) {
  return WithWide(dtype, [&]<typename T>() {
    using A = Compute<T>;
    const CrossEntropySumGradBody<T> body{As<T>(sum), As<A>(weights), As<A>(dloss), As<T>(dsum),
                                          static_cast<A>(global_rows)};
    return ForEach(rows, body, queue);
  });
}

}  // namespace partita::launch
