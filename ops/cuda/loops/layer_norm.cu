#include "ops/cuda/launch/layer_norm.h"
#include "ops/cuda/loops/column_sums.h"
#include "ops/cuda/loops/elementwise.h"

namespace partita::launch {
namespace {

// Rows of few channels are a thread's work, of more a block's, of which each thread takes every 256th channel: Derived
// says what comes of the channels begin, begin + step, ... (Sums, given the mean), and what is made of the sums
// (Write).
template <typename T, typename Derived, typename OfRow>
struct RowsBody {
  using FirstValue = double;
  using SecondValue = OfRow;
  const T* x;
  int64_t channels;
  double epsilon;

  PARTITA_HOST_DEVICE void operator()(int64_t row) const {
    const double mean = Mean(Total(row, 0, 1));
    derived().Write(row, 0, 1, mean, derived().Sums(row, 0, 1, mean));
  }

  PARTITA_HOST_DEVICE double First(int64_t row, int thread) const { return Total(row, thread, kBlockThreads); }
  PARTITA_HOST_DEVICE void CombineFirst(double& sum, double more) const { sum += more; }
  PARTITA_HOST_DEVICE OfRow Second(int64_t row, int thread, double sum) const {
    return derived().Sums(row, thread, kBlockThreads, Mean(sum));
  }
  PARTITA_HOST_DEVICE void CombineSecond(OfRow& sums, const OfRow& more) const { sums += more; }
  PARTITA_HOST_DEVICE void Finish(int64_t row, int thread, double sum, const OfRow& sums) const {
    derived().Write(row, thread, kBlockThreads, Mean(sum), sums);
  }

  PARTITA_HOST_DEVICE double Difference(int64_t at, double mean) const { return static_cast<double>(x[at]) - mean; }
  PARTITA_HOST_DEVICE double Inverse(double squares) const {
    return InverseDeviation(squares, static_cast<double>(channels), epsilon);
  }

 private:
  PARTITA_HOST_DEVICE const Derived& derived() const { return static_cast<const Derived&>(*this); }
  PARTITA_HOST_DEVICE double Mean(double sum) const { return sum / static_cast<double>(channels); }
  PARTITA_HOST_DEVICE double Total(int64_t row, int64_t begin, int64_t step) const {
    double sum = 0;
    for (int64_t i = begin; i < channels; i += step) sum += static_cast<double>(x[row * channels + i]);
    return sum;
  }
};

template <typename T>
struct NormalizeBody : RowsBody<T, NormalizeBody<T>, double> {
  const Compute<T>*gamma, *beta;
  T* y;

  PARTITA_HOST_DEVICE double Sums(int64_t row, int64_t begin, int64_t step, double mean) const {
    double squares = 0;
    for (int64_t i = begin; i < this->channels; i += step) {
      const double d = this->Difference(row * this->channels + i, mean);
      squares += d * d;
    }
    return squares;
  }
  PARTITA_HOST_DEVICE void Write(int64_t row, int64_t begin, int64_t step, double mean, double squares) const {
    const double inverse = this->Inverse(squares);
    for (int64_t i = begin; i < this->channels; i += step) {
      const int64_t at = row * this->channels + i;
      const auto xhat = static_cast<Compute<T>>(this->Difference(at, mean) * inverse);
      y[at] = static_cast<T>(gamma[i] * xhat + beta[i]);
    }
  }
};

// Of d = x - mean and g = gamma dy.
struct GradientOfRow {
  double squares, g, g_d;

  PARTITA_HOST_DEVICE void operator+=(const GradientOfRow& more) {
    squares += more.squares;
    g += more.g;
    g_d += more.g_d;
  }
};

template <typename T>
struct InputGradBody : RowsBody<T, InputGradBody<T>, GradientOfRow> {
  const T* dy;
  const Compute<T>* gamma;
  T* dx;
  RowStatistics* stats;

  PARTITA_HOST_DEVICE GradientOfRow Sums(int64_t row, int64_t begin, int64_t step, double mean) const {
    GradientOfRow sums{0, 0, 0};
    for (int64_t i = begin; i < this->channels; i += step) {
      const double d = this->Difference(row * this->channels + i, mean), g = Scaled(row, i);
      sums += {d * d, g, g * d};
    }
    return sums;
  }
  PARTITA_HOST_DEVICE void Write(int64_t row, int64_t begin, int64_t step, double mean,
                                 const GradientOfRow& sums) const {
    const double inverse = this->Inverse(sums.squares), count = static_cast<double>(this->channels);
    const double mean_g = sums.g / count, mean_g_xhat = sums.g_d * inverse / count;
    for (int64_t i = begin; i < this->channels; i += step) {
      const int64_t at = row * this->channels + i;
      const double xhat = this->Difference(at, mean) * inverse;
      dx[at] = static_cast<T>(LayerNormGradient(Scaled(row, i), xhat, inverse, mean_g, mean_g_xhat));
    }
    if (begin == 0) stats[row] = {mean, inverse};
  }

 private:
  PARTITA_HOST_DEVICE double Scaled(int64_t row, int64_t i) const {
    return static_cast<double>(gamma[i]) * static_cast<double>(dy[row * this->channels + i]);
  }
};

// An entry is nothing.
template <typename T>
struct ParameterSums {
  static constexpr int kSums = 2, kBlocksTogether = 3;
  static constexpr bool kOverGroups = false;
  using Entry = char;
  ColumnChunks chunks;
  PitchedRows<const T> in[2];  // x, dy
  bool packed;
  const RowStatistics* stats;
  Compute<T>*dgamma, *dbeta;

  PARTITA_HOST_DEVICE char Make(int64_t, int64_t) const { return 0; }

  PARTITA_HOST_DEVICE void Add(const ThreadPlace& place, const char*, Sums<2>* sums) const {
    if (packed) {
      AddRows<true>(place, sums);
    } else {
      AddRows<false>(place, sums);
    }
  }

  PARTITA_HOST_DEVICE void Finish(int64_t, int64_t channel, const Sums<2>& sums) const {
    dgamma[channel] = static_cast<Compute<T>>(sums.at[0]);
    dbeta[channel] = static_cast<Compute<T>>(sums.at[1]);
  }

 private:
  template <bool kPacked>
  PARTITA_HOST_DEVICE void AddRows(const ThreadPlace& place, Sums<2>* sums) const {
    const RowStatistics* row = stats + place.first_row + place.row;
    ForRows<kPacked, 2>(in, place, [&](const Channels<T>(&at)[2]) {
      const double mean = row->mean, inverse = row->inverse;
      for (int w = 0; w < kChannelsOfThread; ++w) {
        const auto x = static_cast<double>(at[0].at[w]), dy = static_cast<double>(at[1].at[w]);
        sums[w].at[0] += dy * ((x - mean) * inverse);
        sums[w].at[1] += dy;
      }
      row += place.step;
    });
  }
};

template <typename Body>
LaunchError ForRowsOf(ChannelRows rows, const Body& body, CudaQueue queue) {
  return rows.channels <= kFewClasses ? ForEach(rows.rows, body, queue) : ReduceRows(rows.rows, body, queue);
}

}  // namespace

LaunchError LayerNorm(DType dtype, ChannelRows rows, double epsilon, const void* x, const void* gamma, const void* beta,
                      void* y, CudaQueue queue) {
  return WithFloating(dtype, [&]<typename T>() {
    using A = Compute<T>;
    const NormalizeBody<T> body{{As<T>(x), rows.channels, epsilon}, As<A>(gamma), As<A>(beta), As<T>(y)};
    return ForRowsOf(rows, body, queue);
  });
}

LaunchError LayerNormInputGrad(DType dtype, ChannelRows rows, double epsilon, const void* x, const void* dy,
                               const void* gamma, void* dx, RowStatistics* stats, CudaQueue queue) {
  return WithFloating(dtype, [&]<typename T>() {
    const InputGradBody<T> body{{As<T>(x), rows.channels, epsilon}, As<T>(dy), As<Compute<T>>(gamma), As<T>(dx), stats};
    return ForRowsOf(rows, body, queue);
  });
}

LaunchError LayerNormParameterGrad(DType dtype, const ColumnChunks& chunks, const void* x, const void* dy,
                                   const RowStatistics* stats, void* dgamma, void* dbeta, const SumScratch& scratch,
                                   CudaQueue queue) {
  return WithFloating(dtype, [&]<typename T>() {
    using A = Compute<T>;
    const PitchedRows<const T> in[] = {{As<T>(x), chunks.channels}, {As<T>(dy), chunks.channels}};
    const bool packed = in[0].packed(chunks.channels) && in[1].packed(chunks.channels);
    const ParameterSums<T> body{chunks, {in[0], in[1]}, packed, stats, As<A>(dgamma), As<A>(dbeta)};
    return SumColumns(body, scratch, queue);
  });
}

}  // namespace partita::launch
