#include "ops/cuda/launch/reductions.h"
#include "ops/cuda/loops/column_sums.h"
#include "ops/cuda/loops/elementwise.h"

namespace partita::launch {
namespace {

// An entry is nothing.
template <typename T>
struct Quotients {
  static constexpr int kSums = 1, kBlocksTogether = 4;
  static constexpr bool kOverGroups = false;
  using Entry = char;
  ColumnChunks chunks;
  PitchedRows<const T> x[1];
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
    ForRows<kPacked, 4>(x, place, [&](const Channels<T>(&in)[1]) {
      for (int w = 0; w < kChannelsOfThread; ++w) sums[w].at[0] += static_cast<double>(in[0].at[w]);
    });
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
                        const SumScratch& scratch, CudaQueue queue) {
  if (!IsFloating(to)) return kInvalidLaunch;
  return WithFloating(from, [&]<typename T>() {
    const PitchedRows<const T> rows{As<T>(x), chunks.channels};
    return SumColumns(Quotients<T>{chunks, {rows}, rows.packed(chunks.channels), divisor, to, y}, scratch, queue);
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
