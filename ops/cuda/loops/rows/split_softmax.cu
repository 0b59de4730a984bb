#include <cmath>
#include <limits>

#include "ops/cuda/launch/reductions.h"
#include "ops/cuda/launch/split_softmax.h"
#include "ops/cuda/loops/elementwise.h"
#include "ops/cuda/loops/labels.h"
#include "ops/functors/softmax.h"

namespace partita::launch {
namespace {

struct Nothing {};

// One number of a row's classes. Derived says what comes of the classes begin, begin + step, ... (Of), how two such
// numbers join (Join), and where the row's goes (Store). Few classes are a thread's work; more are a block's, of which
// each thread takes every 256th.
template <typename Derived>
struct RowReduction {
  using FirstValue = double;
  using SecondValue = Nothing;

  PARTITA_HOST_DEVICE void operator()(int64_t row) const { derived().Store(row, derived().Of(row, 0, 1)); }

  PARTITA_HOST_DEVICE double First(int64_t row, int thread) const { return derived().Of(row, thread, kBlockThreads); }
  PARTITA_HOST_DEVICE void CombineFirst(double& value, double more) const { Derived::Join(value, more); }
  PARTITA_HOST_DEVICE Nothing Second(int64_t, int, double) const { return {}; }
  PARTITA_HOST_DEVICE void CombineSecond(Nothing&, const Nothing&) const {}
  PARTITA_HOST_DEVICE void Finish(int64_t row, int thread, double value, const Nothing&) const {
    if (thread == 0) derived().Store(row, value);
  }

 private:
  PARTITA_HOST_DEVICE const Derived& derived() const { return static_cast<const Derived&>(*this); }
};

template <typename Body>
LaunchError ReduceClasses(int64_t rows, int64_t classes, const Body& body, CudaQueue queue) {
  return classes <= kFewClasses ? ForEach(rows, body, queue) : ReduceRows(rows, body, queue);
}

template <typename T>
struct MaximumBody : RowReduction<MaximumBody<T>> {
  const T* x;
  T* maximum;
  int64_t classes;

  PARTITA_HOST_DEVICE double Of(int64_t row, int64_t begin, int64_t step) const {
    double largest = -std::numeric_limits<double>::infinity();
    for (int64_t i = begin; i < classes; i += step) Join(largest, static_cast<double>(x[row * classes + i]));
    return largest;
  }
  PARTITA_HOST_DEVICE static void Join(double& value, double more) {
    if (Exceeds(more, value)) value = more;
  }
  PARTITA_HOST_DEVICE void Store(int64_t row, double value) const { maximum[row] = static_cast<T>(value); }
};

template <typename Derived>
struct RowSum : RowReduction<Derived> {
  PARTITA_HOST_DEVICE static void Join(double& value, double more) { value += more; }
};

template <typename T>
struct ExponentialsBody : RowSum<ExponentialsBody<T>> {
  const T *x, *maximum;
  T* sum;
  int64_t classes;

  PARTITA_HOST_DEVICE double Of(int64_t row, int64_t begin, int64_t step) const {
    double value = 0;
    for (int64_t i = begin; i < classes; i += step) value += std::exp(x[row * classes + i] - maximum[row]);
    return value;
  }
  PARTITA_HOST_DEVICE void Store(int64_t row, double value) const { sum[row] = static_cast<T>(value); }
};

template <typename T>
struct NormalizeGradBody : RowSum<NormalizeGradBody<T>> {
  const T *dy, *sum;
  T* dsum;
  int64_t classes;

  PARTITA_HOST_DEVICE double Of(int64_t row, int64_t begin, int64_t step) const {
    double value = 0;
    for (int64_t i = begin; i < classes; i += step) value += static_cast<double>(dy[row * classes + i]);
    return value;
  }
  PARTITA_HOST_DEVICE void Store(int64_t row, double value) const {
    dsum[row] = static_cast<T>(-value / static_cast<double>(sum[row]));
  }
};

template <typename T>
struct SoftmaxNormalizeGradBody : RowSum<SoftmaxNormalizeGradBody<T>> {
  const T *y, *dy, *sum;
  T* dsum;
  int64_t classes;

  PARTITA_HOST_DEVICE double Of(int64_t row, int64_t begin, int64_t step) const {
    double value = 0;
    for (int64_t i = begin; i < classes; i += step) {
      value += static_cast<double>(y[row * classes + i]) * static_cast<double>(dy[row * classes + i]);
    }
    return value;
  }
  PARTITA_HOST_DEVICE void Store(int64_t row, double value) const {
    dsum[row] = static_cast<T>(-value / static_cast<double>(sum[row]));
  }
};

template <typename T>
struct ExponentialsGradFunctor {
  const T *maximum, *dsum;
  PARTITA_HOST_DEVICE void operator()(const RowChannel& at, const Compute<T>* x, Compute<T>* dx) const {
    dx[0] = std::exp(x[0] - maximum[at.row]) * dsum[at.row];
  }
};

template <typename T>
struct SoftmaxNormalizeFunctor {
  const T *maximum, *sum;
  PARTITA_HOST_DEVICE void operator()(const RowChannel& at, const Compute<T>* x, Compute<T>* y) const {
    y[0] = std::exp(x[0] - maximum[at.row]) / sum[at.row];
  }
};

template <typename T>
struct NormalizeFunctor {
  const T *maximum, *sum;
  PARTITA_HOST_DEVICE void operator()(const RowChannel& at, const Compute<T>* x, Compute<T>* y) const {
    y[0] = x[0] - (maximum[at.row] + std::log(static_cast<Compute<T>>(sum[at.row])));
  }
};

// A share of one class at a time is as good as of all: shares add up.
template <typename T>
struct CrossEntropySharesBody : RowSum<CrossEntropySharesBody<T>> {
  const T *logits, *maximum, *sum;
  Labels<T> labels;
  double* losses;

  PARTITA_HOST_DEVICE double Of(int64_t row, int64_t begin, int64_t step) const {
    const T total = maximum[row] + std::log(sum[row]);
    const T* x = logits + row * labels.classes;
    const int64_t column = labels.Column(row);
    double value = 0;
    for (int64_t i = begin; i < labels.classes; i += step) {
      value +=
          static_cast<double>(CrossEntropyShare(x + i, 1, column - i, labels.all_classes, labels.smoothing, total));
    }
    return value;
  }
  PARTITA_HOST_DEVICE void Store(int64_t row, double value) const {
    losses[row] = labels.Ignores(row) ? 0 : Weighed(row, value);
  }
  PARTITA_HOST_DEVICE double Weighed(int64_t row, double value) const {
    return labels.IsClass(row) ? static_cast<double>(labels.Weight(row)) * value : kNaN;
  }
};

// Without smoothing a row has the share of its label alone.
template <typename T>
struct LabelShareBody {
  CrossEntropySharesBody<T> shares;

  PARTITA_HOST_DEVICE void operator()(int64_t row) const {
    const int64_t column = shares.labels.Column(row);
    const bool here = column >= 0 && column < shares.labels.classes;
    shares.Store(row, here ? shares.Of(row, column, shares.labels.classes) : 0);
  }
};

template <typename T>
struct CrossEntropyLogitsGradBody {
  Labels<T> labels;
  Divisor classes;
  const Compute<T>* dloss;
  T* d;

  PARTITA_HOST_DEVICE void operator()(int64_t i) const {
    const auto [row, column] = classes(i);
    const Compute<T> factor = labels.Ignores(row) ? 0 : labels.Factor(row, *dloss);
    d[i] = static_cast<T>(-factor * SmoothedTarget(column, labels.Column(row), labels.all_classes, labels.smoothing));
  }
};

template <typename T>
struct CrossEntropySumGradBody {
  Labels<T> labels;
  const T* sum;
  const Compute<T>* dloss;
  T* dsum;

  PARTITA_HOST_DEVICE void operator()(int64_t row) const {
    const Compute<T> factor = *dloss * labels.Weight(row) / labels.divisor;
    dsum[row] = labels.Ignores(row) ? T(0) : static_cast<T>(factor / sum[row]);
  }
};

}  // namespace

LaunchError RowMaximum(DType dtype, int64_t rows, int64_t classes, const void* x, void* maximum, CudaQueue queue) {
  return WithWide(dtype, [&]<typename T>() {
    return ReduceClasses(rows, classes, MaximumBody<T>{{}, As<T>(x), As<T>(maximum), classes}, queue);
  });
}

LaunchError RowExponentials(DType dtype, int64_t rows, int64_t classes, const void* x, const void* maximum, void* sum,
                            CudaQueue queue) {
  return WithWide(dtype, [&]<typename T>() {
    const ExponentialsBody<T> body{{}, As<T>(x), As<T>(maximum), As<T>(sum), classes};
    return ReduceClasses(rows, classes, body, queue);
  });
}

LaunchError RowExponentialsGrad(DType dtype, int64_t rows, int64_t classes, const void* x, const void* maximum,
                                const void* dsum, void* dx, CudaQueue queue) {
  return WithWide(dtype, [&]<typename T>() {
    const ExponentialsGradFunctor<T> f{As<T>(maximum), As<T>(dsum)};
    return ForElements<T, 1, 1>({As<T>(x)}, {As<T>(dx)}, {rows, classes}, f, queue);
  });
}

LaunchError SoftmaxNormalize(DType dtype, int64_t rows, int64_t classes, const void* x, const void* maximum,
                             const void* sum, void* y, CudaQueue queue) {
  return WithWide(dtype, [&]<typename T>() {
    const SoftmaxNormalizeFunctor<T> f{As<T>(maximum), As<T>(sum)};
    return ForElements<T, 1, 1>({As<T>(x)}, {As<T>(y)}, {rows, classes}, f, queue);
  });
}

LaunchError SoftmaxNormalizeGrad(DType dtype, int64_t rows, int64_t classes, const void* y, const void* dy,
                                 const void* sum, void* dsum, CudaQueue queue) {
  return WithWide(dtype, [&]<typename T>() {
    const SoftmaxNormalizeGradBody<T> body{{}, As<T>(y), As<T>(dy), As<T>(sum), As<T>(dsum), classes};
    return ReduceClasses(rows, classes, body, queue);
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
    const NormalizeGradBody<T> body{{}, As<T>(dy), As<T>(sum), As<T>(dsum), classes};
    return ReduceClasses(rows, classes, body, queue);
  });
}

LaunchError CrossEntropyShares(DType dtype, const LabelledRows& rows, const void* maximum, const void* sum, void* loss,
                               double* workspace, CudaQueue queue) {
  const LaunchError error = WithWide(dtype, [&]<typename T>() {
    const T* logits = As<T>(rows.logits);
    const CrossEntropySharesBody<T> body{{}, logits, As<T>(maximum), As<T>(sum), LabelsOf<T>(rows), workspace};
    if (rows.smoothing == 0) return ForEach(rows.rows, LabelShareBody<T>{body}, queue);
    return ReduceClasses(rows.rows, rows.classes, body, queue);
  });
  return error != kLaunched ? error : SumOfDoubles(dtype, workspace, rows.rows, rows.divisor, loss, queue);
}

LaunchError CrossEntropyLogitsGrad(DType dtype, const LabelledRows& rows, const void* dloss, void* dlogits,
                                   CudaQueue queue) {
  return WithWide(dtype, [&]<typename T>() {
    const CrossEntropyLogitsGradBody<T> body{LabelsOf<T>(rows), Divisor(rows.classes), As<Compute<T>>(dloss),
                                             As<T>(dlogits)};
    return ForEach(rows.rows * rows.classes, body, queue);
  });
}

LaunchError CrossEntropySumGrad(DType dtype, const LabelledRows& rows, const void* sum, const void* dloss, void* dsum,
                                CudaQueue queue) {
  return WithWide(dtype, [&]<typename T>() {
    const CrossEntropySumGradBody<T> body{LabelsOf<T>(rows), As<T>(sum), As<Compute<T>>(dloss), As<T>(dsum)};
    return ForEach(rows.rows, body, queue);
  });
}

}  // namespace partita::launch
