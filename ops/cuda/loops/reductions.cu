#include "ops/cuda/launch/reductions.h"
#include "ops/cuda/loops/column_sums.h"
#include "ops/cuda/loops/elementwise.h"

namespace partita::launch {
namespace {

template <typename T>
struct ElementTerm {
  const T* x;
  int64_t rows, channels;

  struct Column {
    const T* x;
    int64_t channels;
    PARTITA_HOST_DEVICE void operator()(int64_t row, double* sum) const {
      sum[0] += static_cast<double>(x[row * channels]);
    }
  };
  PARTITA_HOST_DEVICE Column At(int64_t group, int64_t channel) const {
    return {x + group * rows * channels + channel, channels};
  }
};

template <typename T>
struct QuotientFinish {
  T* y;
  int64_t channels;
  double divisor;
  PARTITA_HOST_DEVICE void operator()(int64_t group, int64_t channel, const Sums<1>& sums) const {
    y[group * channels + channel] = static_cast<T>(sums.at[0] / divisor);
  }
};

template <typename T>
struct SquaresBody {
  using Value = double;
  const T* x;
  FlatChunks chunks;
  double* partial;

  template <int kLanes, int kDepth>
  PARTITA_HOST_DEVICE double Partial(int64_t block, int, int depth) const {
    const int64_t end = Smaller(chunks.elements, (block + 1) * chunks.chunk_elements);
    double sum = 0;
    for (int64_t i = block * chunks.chunk_elements + depth; i < end; i += kDepth) {
      sum += static_cast<double>(x[i]) * static_cast<double>(x[i]);
    }
    return sum;
  }
  PARTITA_HOST_DEVICE void Combine(double& sum, double more) const { sum += more; }
  template <int kLanes>
  PARTITA_HOST_DEVICE void Store(int64_t block, int, double sum) const {
    partial[block] = sum;
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

}  // namespace

LaunchError SumOverRows(DType from, DType to, const ColumnChunks& chunks, const void* x, double divisor, void* y,
                        double* workspace, CudaQueue queue) {
  const LaunchError error = WithFloating(from, [&]<typename T>() {
    return SumColumns<1>(chunks, ElementTerm<T>{As<T>(x), chunks.rows, chunks.channels}, workspace, queue);
  });
  if (error != kLaunched) return error;
  return WithFloating(to, [&]<typename T>() {
    return FinishColumns<1>(chunks, QuotientFinish<T>{As<T>(y), chunks.channels, divisor}, workspace, queue);
  });
}

LaunchError SumOfSquares(DType dtype, const FlatChunks& chunks, const void* x, void* y, double* workspace,
                         CudaQueue queue) {
  const LaunchError error = WithWide(dtype, [&]<typename T>() {
    return Reduce<1, kBlockThreads>(chunks.chunks, SquaresBody<T>{As<T>(x), chunks, workspace}, queue);
  });
  return error != kLaunched ? error : SumOfDoubles(dtype, workspace, chunks.chunks, 1, y, queue);
}

LaunchError SumOfDoubles(DType dtype, const double* values, int64_t count, double divisor, void* y, CudaQueue queue) {
  return WithWide(dtype, [&]<typename T>() {
    return Reduce<1, kBlockThreads>(1, DoublesBody<T>{values, count, divisor, As<T>(y)}, queue);
  });
}

}  // namespace partita::launch
