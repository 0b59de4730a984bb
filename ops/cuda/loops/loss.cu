#include <cmath>
#include <limits>

#include "ops/cuda/launch/loss.h"
#include "ops/cuda/launch/reductions.h"
#include "ops/cuda/loops/elementwise.h"
#include "ops/cuda/loops/labels.h"
#include "ops/functors/softmax.h"

namespace partita::launch {
namespace {

struct Largest {
  double value;
};
struct RowSums {
  double exponentials;  // sum of exp(x - largest)
  double values;        // sum of x - largest
};

// The largest value of a row, then its sums relative to that; what follows is in Derived::Finish.
template <typename T>
struct SoftmaxRowBody {
  using FirstValue = Largest;
  using SecondValue = RowSums;
  const T* x;
  int64_t classes;

  PARTITA_HOST_DEVICE Largest First(int64_t row, int thread) const {
    Largest best{-std::numeric_limits<double>::infinity()};
    for (int64_t i = thread; i < classes; i += kBlockThreads) CombineFirst(best, {Value(row, i)});
    return best;
  }
  PARTITA_HOST_DEVICE void CombineFirst(Largest& best, const Largest& other) const {
    if (Exceeds(other.value, best.value)) best = other;
  }
  PARTITA_HOST_DEVICE RowSums Second(int64_t row, int thread, const Largest& largest) const {
    RowSums sums{0, 0};
    for (int64_t i = thread; i < classes; i += kBlockThreads) {
      const double d = Value(row, i) - largest.value;
      sums.exponentials += std::exp(static_cast<Compute<T>>(d));
      sums.values += d;
    }
    return sums;
  }
  PARTITA_HOST_DEVICE void CombineSecond(RowSums& sums, const RowSums& more) const {
    sums.exponentials += more.exponentials;
    sums.values += more.values;
  }
  PARTITA_HOST_DEVICE double Value(int64_t row, int64_t i) const { return static_cast<double>(x[row * classes + i]); }
};

template <typename T>
struct LogSoftmaxRowsBody : SoftmaxRowBody<T> {
  T* y;
  PARTITA_HOST_DEVICE void Finish(int64_t row, int thread, const Largest& largest, const RowSums& sums) const {
    const double total = largest.value + std::log(sums.exponentials);
    for (int64_t i = thread; i < this->classes; i += kBlockThreads) {
      y[row * this->classes + i] = static_cast<T>(this->Value(row, i) - total);
    }
  }
};

template <typename T>
struct SoftmaxRowsBody : SoftmaxRowBody<T> {
  T* y;
  PARTITA_HOST_DEVICE void Finish(int64_t row, int thread, const Largest& largest, const RowSums& sums) const {
    const auto inverse = static_cast<Compute<T>>(1 / sums.exponentials);
    for (int64_t i = thread; i < this->classes; i += kBlockThreads) {
      const double d = this->Value(row, i) - largest.value;
      y[row * this->classes + i] = static_cast<T>(std::exp(static_cast<Compute<T>>(d)) * inverse);
    }
  }
};

// Rows of few classes, by the functors that the host calls.
template <typename T>
struct SoftmaxBody {
  const T* x;
  T* y;
  int64_t classes;
  PARTITA_HOST_DEVICE void operator()(int64_t row) const { SoftmaxRow(x + row * classes, y + row * classes, classes); }
};

template <typename T>
struct LogSoftmaxBody {
  const T* x;
  T* y;
  int64_t classes;
  PARTITA_HOST_DEVICE void operator()(int64_t row) const {
    LogSoftmaxRow(x + row * classes, y + row * classes, classes);
  }
};

struct Nothing {};

// One sum of each row.
struct OneSum {
  using FirstValue = double;
  using SecondValue = Nothing;
  PARTITA_HOST_DEVICE void CombineFirst(double& sum, double more) const { sum += more; }
  PARTITA_HOST_DEVICE Nothing Second(int64_t, int, double) const { return {}; }
  PARTITA_HOST_DEVICE void CombineSecond(Nothing&, const Nothing&) const {}
};

template <typename T>
struct SoftmaxGradRowsBody : OneSum {
  const T *y, *dy;
  T* dx;
  int64_t classes;

  PARTITA_HOST_DEVICE double First(int64_t row, int thread) const {
    double sum = 0;
    for (int64_t i = thread; i < classes; i += kBlockThreads) {
      sum += static_cast<double>(y[row * classes + i]) * static_cast<double>(dy[row * classes + i]);
    }
    return sum;
  }
  PARTITA_HOST_DEVICE void Finish(int64_t row, int thread, double sum, const Nothing&) const {
    for (int64_t i = thread; i < classes; i += kBlockThreads) {
      const int64_t at = row * classes + i;
      dx[at] = static_cast<T>(y[at] * (dy[at] - static_cast<Compute<T>>(sum)));
    }
  }
};

template <typename T>
struct SoftmaxGradBody {
  const T *y, *dy;
  T* dx;
  int64_t classes;
  PARTITA_HOST_DEVICE void operator()(int64_t row) const {
    SoftmaxGradRow(y + row * classes, dy + row * classes, dx + row * classes, classes);
  }
};

template <typename T>
struct LogSoftmaxGradRowsBody : OneSum {
  const T *y, *dy;
  T* dx;
  int64_t classes;

  PARTITA_HOST_DEVICE double First(int64_t row, int thread) const {
    double sum = 0;
    for (int64_t i = thread; i < classes; i += kBlockThreads) sum += static_cast<double>(dy[row * classes + i]);
    return sum;
  }
  PARTITA_HOST_DEVICE void Finish(int64_t row, int thread, double sum, const Nothing&) const {
    for (int64_t i = thread; i < classes; i += kBlockThreads) {
      const int64_t at = row * classes + i;
      const Compute<T> share = std::exp(static_cast<Compute<T>>(y[at])) * static_cast<Compute<T>>(sum);
      dx[at] = static_cast<T>(static_cast<Compute<T>>(dy[at]) - share);
    }
  }
};

template <typename T>
struct LogSoftmaxGradBody {
  const T *y, *dy;
  T* dx;
  int64_t classes;
  PARTITA_HOST_DEVICE void operator()(int64_t row) const {
    LogSoftmaxGradRow(y + row * classes, dy + row * classes, dx + row * classes, classes);
  }
};

template <typename T>
struct CrossEntropyBody {
  const T* logits;
  Labels<T> labels;
  double* losses = nullptr;  // null: added up at once

  PARTITA_HOST_DEVICE void operator()(int64_t row) const { losses[row] = Of(row); }
  PARTITA_HOST_DEVICE double Of(int64_t row) const {
    if (labels.Ignores(row)) return 0;
    if (!labels.IsClass(row)) return kNaN;
    const T* x = logits + row * labels.classes;
    const T loss = CrossEntropyRow(x, labels.classes, labels.labels[row], labels.smoothing);
    return static_cast<double>(labels.Weight(row) * loss);
  }
};

// So few rows of few classes are one block's work, in one launch: each thread's in their order, as SumOfDoubles would.
constexpr int64_t kFewRows = 1024;

template <typename T, typename Rows>
struct SumOfRowsBody {
  using Value = double;
  Rows term;
  int64_t rows;
  double divisor;
  T* y;

  template <int kLanes, int kDepth>
  PARTITA_HOST_DEVICE double Partial(int64_t, int, int depth) const {
    double sum = 0;
    for (int64_t row = depth; row < rows; row += kDepth) sum += term.Of(row);
    return sum;
  }
  PARTITA_HOST_DEVICE void Combine(double& sum, double more) const { sum += more; }
  template <int kLanes>
  PARTITA_HOST_DEVICE void Store(int64_t, int, double sum) const {
    *y = static_cast<T>(sum / divisor);
  }
};

template <typename T, typename Rows>
LaunchError SumOfRows(const LabelledRows& rows, const Rows& term, void* y, CudaQueue queue) {
  const SumOfRowsBody<T, Rows> body{term, rows.rows, static_cast<double>(rows.divisor), As<T>(y)};
  return Reduce<1, kBlockThreads>(1, body, queue);
}

bool IsOneBlock(const LabelledRows& rows) { return rows.classes <= kFewClasses && rows.rows <= kFewRows; }

// Rows that are ignored are not read.
template <typename T>
struct LabelledRowBody : SoftmaxRowBody<T> {
  Labels<T> labels;

  PARTITA_HOST_DEVICE Largest First(int64_t row, int thread) const {
    return labels.Ignores(row) ? Largest{0} : SoftmaxRowBody<T>::First(row, thread);
  }
  PARTITA_HOST_DEVICE RowSums Second(int64_t row, int thread, const Largest& largest) const {
    return labels.Ignores(row) ? RowSums{0, 0} : SoftmaxRowBody<T>::Second(row, thread, largest);
  }
};

template <typename T>
struct CrossEntropyRowsBody : LabelledRowBody<T> {
  double smoothing, share;  // `share` of it to each class
  double* losses;

  PARTITA_HOST_DEVICE void Finish(int64_t row, int thread, const Largest& largest, const RowSums& sums) const {
    if (thread == 0) losses[row] = this->labels.Ignores(row) ? 0 : LossOf(row, largest, sums);
  }
  PARTITA_HOST_DEVICE double LossOf(int64_t row, const Largest& largest, const RowSums& sums) const {
    const Labels<T>& labels = this->labels;
    if (!labels.IsClass(row)) return kNaN;
    const double log_sum = std::log(sums.exponentials), n = static_cast<double>(labels.classes);
    const double own = log_sum - (this->Value(row, labels.labels[row]) - largest.value);
    const double loss = (1 - smoothing) * own + share * (n * log_sum - sums.values);
    return static_cast<double>(labels.Weight(row)) * loss;
  }
};

// A scalar that is 1 where it is absent.
template <typename A>
PARTITA_HOST_DEVICE A OrOne(const A* scalar) {
  return scalar == nullptr ? A(1) : *scalar;
}

template <typename T>
struct CrossEntropyGradBody {
  const T* logits;
  Labels<T> labels;
  const Compute<T>* dloss;
  T* d;

  PARTITA_HOST_DEVICE void operator()(int64_t row) const {
    const int64_t at = row * labels.classes;
    if (labels.Ignores(row)) {
      for (int64_t i = 0; i < labels.classes; ++i) d[at + i] = 0;
      return;
    }
    const Compute<T> factor = labels.Factor(row, OrOne(dloss));
    CrossEntropyGradRow(logits + at, d + at, labels.classes, labels.labels[row], labels.smoothing, factor);
  }
};

template <typename T>
struct CrossEntropyGradRowsBody : LabelledRowBody<T> {
  const Compute<T>* dloss;
  T* d;

  PARTITA_HOST_DEVICE void Finish(int64_t row, int thread, const Largest& largest, const RowSums& sums) const {
    using A = Compute<T>;
    const Labels<T>& labels = this->labels;
    if (labels.Ignores(row)) {
      for (int64_t i = thread; i < this->classes; i += kBlockThreads) d[row * this->classes + i] = 0;
      return;
    }
    const A factor = labels.Factor(row, OrOne(dloss));
    const double total = largest.value + std::log(sums.exponentials);
    for (int64_t i = thread; i < this->classes; i += kBlockThreads) {
      const A probability = std::exp(static_cast<A>(this->Value(row, i) - total));
      const A target = SmoothedTarget(i, labels.labels[row], this->classes, labels.smoothing);
      d[row * this->classes + i] = static_cast<T>(factor * (probability - target));
    }
  }
};

template <typename T>
struct AccuracyBody {
  const T* logits;
  Labels<T> labels;
  int64_t top;
  double* counts = nullptr;

  PARTITA_HOST_DEVICE void operator()(int64_t row) const { counts[row] = Of(row); }
  PARTITA_HOST_DEVICE double Of(int64_t row) const {
    if (labels.Ignores(row)) return 0;
    if (!labels.IsClass(row)) return kNaN;
    const bool counts = ClassesBefore(logits + row * labels.classes, labels.classes, labels.labels[row]) < top;
    return counts ? static_cast<double>(labels.Weight(row)) : 0;
  }
};

// Adds up how many classes come before the label.
template <typename T>
struct AccuracyRowsBody : OneSum {
  const T* x;
  Labels<T> labels;
  int64_t top;
  double* counts;

  PARTITA_HOST_DEVICE double First(int64_t row, int thread) const {
    if (labels.Ignores(row)) return 0;
    if (!labels.IsClass(row)) return kNaN;
    const int64_t label = labels.labels[row];
    const T* const values = x + row * labels.classes;
    int64_t before = 0;
    for (int64_t i = thread; i < labels.classes; i += kBlockThreads) {
      before += IsBefore(values[i], i, values[label], label) ? 1 : 0;
    }
    return static_cast<double>(before);
  }
  PARTITA_HOST_DEVICE void Finish(int64_t row, int thread, double before, const Nothing&) const {
    if (thread != 0) return;
    const bool counts_one = !labels.Ignores(row) && before < static_cast<double>(top);
    counts[row] = counts_one ? static_cast<double>(labels.Weight(row)) : 0;
    if (before != before) counts[row] = kNaN;
  }
};

template <typename T>
struct CountBody {
  Labels<T> labels;
  double* counts = nullptr;

  PARTITA_HOST_DEVICE void operator()(int64_t row) const { counts[row] = Of(row); }
  PARTITA_HOST_DEVICE double Of(int64_t row) const {
    return labels.Ignores(row) ? 0 : static_cast<double>(labels.Weight(row));
  }
};

}  // namespace

LaunchError Softmax(DType dtype, int64_t rows, int64_t classes, const void* x, void* y, CudaQueue queue) {
  return WithWide(dtype, [&]<typename T>() {
    if (classes <= kFewClasses) return ForEach(rows, SoftmaxBody<T>{As<T>(x), As<T>(y), classes}, queue);
    return ReduceRows(rows, SoftmaxRowsBody<T>{{As<T>(x), classes}, As<T>(y)}, queue);
  });
}

LaunchError SoftmaxGrad(DType dtype, int64_t rows, int64_t classes, const void* y, const void* dy, void* dx,
                        CudaQueue queue) {
  return WithWide(dtype, [&]<typename T>() {
    if (classes <= kFewClasses) {
      return ForEach(rows, SoftmaxGradBody<T>{As<T>(y), As<T>(dy), As<T>(dx), classes}, queue);
    }
    return ReduceRows(rows, SoftmaxGradRowsBody<T>{{}, As<T>(y), As<T>(dy), As<T>(dx), classes}, queue);
  });
}

LaunchError LogSoftmax(DType dtype, int64_t rows, int64_t classes, const void* x, void* y, CudaQueue queue) {
  return WithWide(dtype, [&]<typename T>() {
    if (classes <= kFewClasses) return ForEach(rows, LogSoftmaxBody<T>{As<T>(x), As<T>(y), classes}, queue);
    return ReduceRows(rows, LogSoftmaxRowsBody<T>{{As<T>(x), classes}, As<T>(y)}, queue);
  });
}

LaunchError LogSoftmaxGrad(DType dtype, int64_t rows, int64_t classes, const void* y, const void* dy, void* dx,
                           CudaQueue queue) {
  return WithWide(dtype, [&]<typename T>() {
    if (classes <= kFewClasses) {
      return ForEach(rows, LogSoftmaxGradBody<T>{As<T>(y), As<T>(dy), As<T>(dx), classes}, queue);
    }
    return ReduceRows(rows, LogSoftmaxGradRowsBody<T>{{}, As<T>(y), As<T>(dy), As<T>(dx), classes}, queue);
  });
}

LaunchError CrossEntropy(DType dtype, const LabelledRows& rows, void* loss, double* workspace, CudaQueue queue) {
  if (IsOneBlock(rows)) {
    return WithWide(dtype, [&]<typename T>() {
      return SumOfRows<T>(rows, CrossEntropyBody<T>{As<T>(rows.logits), LabelsOf<T>(rows)}, loss, queue);
    });
  }
  const LaunchError error = WithWide(dtype, [&]<typename T>() {
    const T* x = As<T>(rows.logits);
    if (rows.classes <= kFewClasses) {
      return ForEach(rows.rows, CrossEntropyBody<T>{x, LabelsOf<T>(rows), workspace}, queue);
    }
    const double share = rows.smoothing / static_cast<double>(rows.classes);
    const CrossEntropyRowsBody<T> body{{{x, rows.classes}, LabelsOf<T>(rows)}, rows.smoothing, share, workspace};
    return ReduceRows(rows.rows, body, queue);
  });
  return error != kLaunched ? error : SumOfDoubles(dtype, workspace, rows.rows, rows.divisor, loss, queue);
}

LaunchError Accuracy(DType dtype, const LabelledRows& rows, int64_t top, void* accuracy, double* workspace,
                     CudaQueue queue) {
  if (IsOneBlock(rows)) {
    return WithWide(dtype, [&]<typename T>() {
      return SumOfRows<T>(rows, AccuracyBody<T>{As<T>(rows.logits), LabelsOf<T>(rows), top}, accuracy, queue);
    });
  }
  const LaunchError error = WithWide(dtype, [&]<typename T>() {
    const T* x = As<T>(rows.logits);
    if (rows.classes <= kFewClasses) {
      return ForEach(rows.rows, AccuracyBody<T>{x, LabelsOf<T>(rows), top, workspace}, queue);
    }
    return ReduceRows(rows.rows, AccuracyRowsBody<T>{{}, x, LabelsOf<T>(rows), top, workspace}, queue);
  });
  return error != kLaunched ? error : SumOfDoubles(dtype, workspace, rows.rows, rows.divisor, accuracy, queue);
}

LaunchError CountLabels(DType dtype, const LabelledRows& rows, void* count, double* workspace, CudaQueue queue) {
  if (IsOneBlock(rows)) {
    return WithWide(dtype,
                    [&]<typename T>() { return SumOfRows<T>(rows, CountBody<T>{LabelsOf<T>(rows)}, count, queue); });
  }
  const LaunchError error = WithWide(dtype, [&]<typename T>() {
    return ForEach(rows.rows, CountBody<T>{LabelsOf<T>(rows), workspace}, queue);
  });
  return error != kLaunched ? error : SumOfDoubles(dtype, workspace, rows.rows, 1, count, queue);
}

LaunchError CrossEntropyGrad(DType dtype, const LabelledRows& rows, const void* dloss, void* dlogits, CudaQueue queue) {
  return WithWide(dtype, [&]<typename T>() {
    using A = Compute<T>;
    const T* x = As<T>(rows.logits);
    const Labels<T> labels = LabelsOf<T>(rows);
    if (rows.classes <= kFewClasses) {
      const CrossEntropyGradBody<T> body{x, labels, As<A>(dloss), As<T>(dlogits)};
      return ForEach(rows.rows, body, queue);
    }
    const CrossEntropyGradRowsBody<T> body{{{x, rows.classes}, labels}, As<A>(dloss), As<T>(dlogits)};
    return ReduceRows(rows.rows, body, queue);
  });
}

}  // namespace partita::launch
