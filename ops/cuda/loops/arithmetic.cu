#include <vector>

#include "ops/cuda/launch/arithmetic.h"
#include "ops/cuda/loops/divisor.h"
#include "ops/cuda/loops/elementwise.h"
#include "ops/cuda/loops/runs.h"
#include "ops/functors/dropout.h"
#include "ops/functors/elementwise.h"
#include "ops/functors/noise.h"

namespace partita::launch {
namespace {

template <typename T>
struct ConstantBody {
  T* y;
  T value;
  PARTITA_HOST_DEVICE void operator()(int64_t i) const { y[i] = value; }
};

// Four neighbours, each side in one access where the addresses allow it.
template <typename From, typename To>
struct CastBody {
  template <typename T>
  struct alignas(4 * sizeof(T)) Four {
    T at[4];
  };

  const From* x;
  To* y;
  int64_t elements;
  bool packed;

  PARTITA_HOST_DEVICE void operator()(int64_t i) const {
    const int64_t begin = 4 * i, end = Smaller(elements, begin + 4);
    if (!packed || end - begin < 4) {
      for (int64_t e = begin; e < end; ++e) y[e] = static_cast<To>(x[e]);
      return;
    }
    const auto from = *reinterpret_cast<const Four<From>*>(x + begin);
    Four<To> to;
    for (int k = 0; k < 4; ++k) to.at[k] = static_cast<To>(from.at[k]);
    *reinterpret_cast<Four<To>*>(y + begin) = to;
  }

  static bool IsPacked(const void* x, const void* y) {
    return reinterpret_cast<uintptr_t>(x) % sizeof(Four<From>) == 0 &&
           reinterpret_cast<uintptr_t>(y) % sizeof(Four<To>) == 0;
  }
};

// Four neighbours: their bytes in one access, and their numbers, where the addresses allow it.
template <typename T>
struct PixelsBody {
  struct alignas(4) FourBytes {
    uint8_t at[4];
  };
  struct alignas(16) FourNumbers {
    T at[4];
  };

  const uint8_t* x;
  T* y;
  int64_t elements;
  Divisor channels;
  bool packed;
  PixelScale scale;

  PARTITA_HOST_DEVICE void operator()(int64_t i) const {
    const int64_t begin = 4 * i, end = Smaller(elements, begin + 4);
    int64_t channel = channels(begin).rest;
    if (!packed || end - begin < 4) {
      for (int64_t e = begin; e < end; ++e) y[e] = Next(x[e], channel);
      return;
    }
    const auto bytes = *reinterpret_cast<const FourBytes*>(x + begin);
    FourNumbers numbers;
    for (int k = 0; k < 4; ++k) numbers.at[k] = Next(bytes.at[k], channel);
    *reinterpret_cast<FourNumbers*>(y + begin) = numbers;
  }

  PARTITA_HOST_DEVICE T Next(uint8_t byte, int64_t& channel) const {
    const T number = PixelValue<T>(byte, scale.mean[channel], scale.deviation[channel]);
    channel = channel + 1 == channels.by() ? 0 : channel + 1;
    return number;
  }

  static bool IsPacked(const void* x, const void* y) {
    return reinterpret_cast<uintptr_t>(x) % alignof(FourBytes) == 0 &&
           reinterpret_cast<uintptr_t>(y) % alignof(FourNumbers) == 0;
  }
};

template <typename F>
struct UnaryElement {
  template <typename A>
  PARTITA_HOST_DEVICE void operator()(RowChannel, const A* x, A* y) const {
    y[0] = F::Value(x[0]);
  }
};

template <typename F>
struct BinaryElement {
  template <typename A>
  PARTITA_HOST_DEVICE void operator()(RowChannel, const A* x, A* y) const {
    y[0] = F::Value(x[0], x[1]);
  }
};

template <typename A>
struct ScaleElement {
  A factor;
  PARTITA_HOST_DEVICE void operator()(RowChannel, const A* x, A* y) const { y[0] = factor * x[0]; }
};

template <typename A>
struct OverElement {
  const A* s;
  PARTITA_HOST_DEVICE void operator()(RowChannel, const A* x, A* y) const { y[0] = x[0] / *s; }
};

template <int kCount>
struct AddElement {
  template <typename A>
  PARTITA_HOST_DEVICE void operator()(RowChannel, const A* x, A* y) const {
    A sum = x[0];
    for (int k = 1; k < kCount; ++k) sum += x[k];
    y[0] = sum;
  }
};

template <typename A>
struct BiasElement {
  const A* b;
  PARTITA_HOST_DEVICE void operator()(RowChannel place, const A* x, A* y) const { y[0] = x[0] + b[place.channel]; }
};

// Where the elements of a rank's block lie in the global tensor.
struct GlobalRuns {
  int rank = 0;
  Divisor size[GlobalBlock::kMaxRank];
  int64_t offset[GlobalBlock::kMaxRank] = {}, stride[GlobalBlock::kMaxRank] = {};

  explicit GlobalRuns(const GlobalBlock& block) : rank(block.rank) {
    int64_t elements = 1;
    for (int d = rank - 1; d >= 0; --d) {
      size[d] = Divisor(block.size[d]);
      offset[d] = block.offset[d];
      stride[d] = elements;
      elements *= block.global[d];
    }
  }

  // The global index of an element, and how many from there on follow each other in both: to the end of its row.
  struct Run {
    uint64_t index;
    int64_t length;
  };
  PARTITA_HOST_DEVICE Run At(int64_t local) const {
    Run run{0, 1};
    for (int d = rank - 1; d >= 0; --d) {
      const Divisor::Divided place = size[d](local);
      run.index += static_cast<uint64_t>((offset[d] + place.rest) * stride[d]);
      if (d == rank - 1) run.length = size[d].by() - place.rest;
      local = place.quotient;
    }
    return run;
  }
};

// Four neighbours, which mostly share a block of random words.
template <typename T>
struct DropoutBody {
  const T* x;
  T* y;
  int64_t elements;
  GlobalRuns runs;
  uint64_t key;
  const int32_t* iteration;
  uint32_t threshold;
  Compute<T> scale;

  PARTITA_HOST_DEVICE void operator()(int64_t i) const {
    const uint64_t step = iteration == nullptr ? 0 : static_cast<uint64_t>(*iteration);
    const int64_t end = Smaller(elements, 4 * i + 4);
    uint64_t drawn = ~uint64_t{0};
    GlobalRuns::Run run{0, 0};
    PhiloxBlock words{};
    for (int64_t e = 4 * i; e < end; ++e, ++run.index, --run.length) {
      if (run.length == 0) run = runs.At(e);
      if (run.index / 4 != drawn) {
        drawn = run.index / 4;
        words = RandomBlock(key, step, drawn);
      }
      y[e] =
          static_cast<T>(partita::Dropout(static_cast<Compute<T>>(x[e]), Lane(words, run.index % 4), threshold, scale));
    }
  }

  // Without an index into registers, which would move them to memory.
  PARTITA_HOST_DEVICE static uint32_t Lane(const PhiloxBlock& words, uint64_t lane) {
    const uint32_t low = lane % 2 == 0 ? words.lane[0] : words.lane[1];
    const uint32_t high = lane % 2 == 0 ? words.lane[2] : words.lane[3];
    return lane < 2 ? low : high;
  }
};

template <typename T>
struct NoiseBody {
  T* y;
  GlobalRuns runs;
  NoiseStep noise;
  const int32_t* iteration;

  PARTITA_HOST_DEVICE void operator()(int64_t i) const {
    NoiseStep step = noise;
    if (iteration != nullptr) step.iteration = static_cast<uint64_t>(*iteration);
    y[i] = static_cast<T>(static_cast<Compute<T>>(step.At(runs.At(i).index)));
  }
};

template <typename T>
struct PositionsBody {
  T* y;
  Divisor behind, size;
  int64_t first;

  PARTITA_HOST_DEVICE void operator()(int64_t i) const {
    y[i] = static_cast<T>(static_cast<Compute<T>>(first + size(behind(i).quotient).rest));
  }
};

ChannelRows Flat(int64_t elements) { return {1, elements}; }

// A sum of kCount inputs, the first one perhaps what earlier launches have added up.
template <typename T, int kCount>
LaunchError AddSome(const void* const* x, void* y, int64_t elements, CudaQueue queue) {
  const T* in[kCount];
  for (int k = 0; k < kCount; ++k) in[k] = As<T>(x[k]);
  return ForElements<T>(in, {As<T>(y)}, Flat(elements), AddElement<kCount>{}, queue);
}

inline constexpr int kMostAdded = 256;  // in one launch

// y = x[0] + ... + x[count - 1]; an index is a run.
template <typename T, int kWidth>
struct AddManyBody {
  const T* x[kMostAdded];
  int count;
  T* y;

  PARTITA_HOST_DEVICE void operator()(int64_t index) const {
    Compute<T> sum[kWidth], values[kWidth];
    Widen(LoadRun<kWidth>(x[0] + index * kWidth), sum);
    for (int k = 1; k < count; ++k) {
      Widen(LoadRun<kWidth>(x[k] + index * kWidth), values);
      for (int w = 0; w < kWidth; ++w) sum[w] += values[w];
    }
    StoreRounded(sum, y + index * kWidth);
  }
};

template <typename T, int kWidth>
LaunchError AddMany(const void* const* x, int count, void* y, int64_t elements, CudaQueue queue) {
  AddManyBody<T, kWidth> body{{}, count, As<T>(y)};
  for (int k = 0; k < count; ++k) body.x[k] = As<T>(x[k]);
  return ForEach(elements / kWidth, body, queue);
}

}  // namespace

LaunchError Constant(DType dtype, double value, void* y, int64_t elements, CudaQueue queue) {
  return WithType(dtype, [&]<typename T>() {
    return ForEach(elements, ConstantBody<T>{As<T>(y), static_cast<T>(value)}, queue);
  });
}

LaunchError Cast(DType from, DType to, const void* x, void* y, int64_t elements, CudaQueue queue) {
  return WithType(from, [&]<typename From>() {
    return WithType(to, [&]<typename To>() {
      using Body = CastBody<From, To>;
      return ForEach(CeilDivide(elements, 4), Body{As<From>(x), As<To>(y), elements, Body::IsPacked(x, y)}, queue);
    });
  });
}

LaunchError Pixels(DType to, const PixelScale& scale, const uint8_t* x, void* y, int64_t elements, CudaQueue queue) {
  return WithWide(to, [&]<typename T>() {
    using Body = PixelsBody<T>;
    const Body body{x, As<T>(y), elements, Divisor(scale.channels), Body::IsPacked(x, y), scale};
    return ForEach(CeilDivide(elements, 4), body, queue);
  });
}

LaunchError Unary(int place, DType dtype, const void* x, void* y, int64_t elements, CudaQueue queue) {
  return AtPlace(UnaryOps(), place, [&]<typename F>() {
    return WithFloating(dtype, [&]<typename T>() {
      return ForElements<T>({As<T>(x)}, {As<T>(y)}, Flat(elements), UnaryElement<F>{}, queue);
    });
  });
}

LaunchError Binary(int place, DType dtype, const void* a, const void* b, void* y, int64_t elements, CudaQueue queue) {
  return AtPlace(BinaryOps(), place, [&]<typename F>() {
    return WithFloating(dtype, [&]<typename T>() {
      return ForElements<T>({As<T>(a), As<T>(b)}, {As<T>(y)}, Flat(elements), BinaryElement<F>{}, queue);
    });
  });
}

LaunchError Add(DType dtype, const void* const* x, int count, void* y, int64_t elements, CudaQueue queue) {
  return WithFloating(dtype, [&]<typename T>() {
    if (count == 1) return CopyBytes(y, x[0], elements * static_cast<int64_t>(sizeof(T)), queue);
    if (count == 2) return AddSome<T, 2>(x, y, elements, queue);
    if (count == 3) return AddSome<T, 3>(x, y, elements, queue);
    if (count == 4) return AddSome<T, 4>(x, y, elements, queue);
    if (count > kMostAdded) {
      const LaunchError error = Add(dtype, x, kMostAdded, y, elements, queue);
      if (error != kLaunched) return error;
      std::vector<const void*> rest = {y};
      rest.insert(rest.end(), x + kMostAdded, x + count);
      return Add(dtype, rest.data(), static_cast<int>(rest.size()), y, elements, queue);
    }
    constexpr int kWidth = kPackWidth<T>;
    bool packed = elements % kWidth == 0 && IsPackAligned(y);
    for (int k = 0; k < count; ++k) packed = packed && IsPackAligned(x[k]);
    return packed ? AddMany<T, kWidth>(x, count, y, elements, queue) : AddMany<T, 1>(x, count, y, elements, queue);
  });
}

LaunchError Scale(DType dtype, double factor, const void* x, void* y, int64_t elements, CudaQueue queue) {
  return WithFloating(dtype, [&]<typename T>() {
    const ScaleElement<Compute<T>> element{static_cast<Compute<T>>(factor)};
    return ForElements<T>({As<T>(x)}, {As<T>(y)}, Flat(elements), element, queue);
  });
}

LaunchError Over(DType dtype, const void* x, const void* s, void* y, int64_t elements, CudaQueue queue) {
  return WithWide(dtype, [&]<typename T>() {
    return ForElements<T>({As<T>(x)}, {As<T>(y)}, Flat(elements), OverElement<T>{As<T>(s)}, queue);
  });
}

LaunchError Bias(DType dtype, const void* x, const void* b, void* y, ChannelRows shape, CudaQueue queue) {
  return WithFloating(dtype, [&]<typename T>() {
    const BiasElement<Compute<T>> element{As<Compute<T>>(b)};
    return ForElements<T>({As<T>(x)}, {As<T>(y)}, shape, element, queue);
  });
}

LaunchError Dropout(DType dtype, const DropoutLaunch& dropout, const void* x, void* y, int64_t elements,
                    CudaQueue queue) {
  return WithFloating(dtype, [&]<typename T>() {
    const DropoutBody<T> body{As<T>(x),
                              As<T>(y),
                              elements,
                              GlobalRuns(dropout.block),
                              dropout.key,
                              dropout.iteration,
                              DropoutThreshold(dropout.rate),
                              static_cast<Compute<T>>(1 / (1 - dropout.rate))};
    return ForEach(CeilDivide(elements, 4), body, queue);
  });
}

LaunchError Noise(DType dtype, const DrawLaunch& draw, bool normal, void* y, int64_t elements, CudaQueue queue) {
  return WithFloating(dtype, [&]<typename T>() {
    const NoiseBody<T> body{As<T>(y), GlobalRuns(draw.block), NoiseStep{normal, draw.key, 0}, draw.iteration};
    return ForEach(elements, body, queue);
  });
}

LaunchError Positions(DType dtype, const DimensionPlaces& places, void* y, int64_t elements, CudaQueue queue) {
  return WithFloating(dtype, [&]<typename T>() {
    const PositionsBody<T> body{As<T>(y), Divisor(places.behind), Divisor(places.size), places.first};
    return ForEach(elements, body, queue);
  });
}

}  // namespace partita::launch
