#include <initializer_list>
#include <limits>

#include "ops/cuda/launch/pooling.h"
#include "ops/cuda/loops/elementwise.h"
#include "ops/cuda/loops/images/pooling_windows.h"
#include "ops/cuda/loops/runs.h"
#include "ops/functors/pairs.h"

namespace partita::launch {
namespace {

// As many channels of a thread: 16 bytes, or twice as many where an element is a word or more, since finding the
// windows costs as much for one channel as for all.
template <typename T>
inline constexpr int kThreadWidth = sizeof(T) < 4 ? kPackWidth<T> : 2 * kPackWidth<T>;

template <typename T, int kWidth>
RunsOfPixel MakeRuns(int64_t channels) {
  constexpr int kAccess = kAccessWidth<T, kWidth>;
  return {channels, kAccess, kWidth / kAccess};
}

// What all bodies have: the images x and y, or their gradients, and the windows between them. A thread has kWidth
// channels of a pixel.
template <typename T, int kWidth, typename Index>
struct Windows {
  PoolingAxis<Index> rows, columns;
  PixelRuns<Index> x, y;
  int64_t apart;  // bytes from one run of the thread's channels to the other

  Windows(const Pooling& pool, int64_t x_pitch, int64_t y_pitch)
      : Windows(pool, MakeRuns<T, kWidth>(pool.images.c), x_pitch, y_pitch) {}

  // f(channels, in `images`, which are x) for the window of a pixel of y.
  template <typename F>
  PARTITA_HOST_DEVICE void ForWindow(const T* images, const PixelPlace<Index>& out, const F& f) const {
    const Walked<Index, T> walked[] = {{x, x.OriginOf(images, out)}};
    ForPixels(walked, rows.WindowOf(out.row), columns.WindowOf(out.column),
              [&](const T* const(&at)[1], Index, Index) { f(Load(at[0])); });
  }

  // f(addresses in `outputs`, which have the pixels of y, row, column) for the windows that see a pixel of x.
  template <int kImages, typename F>
  PARTITA_HOST_DEVICE void ForOutputsThatSee(const Walked<Index, T> (&outputs)[kImages], const PixelPlace<Index>& in,
                                             const F& f) const {
    ForPixels(outputs, rows.OutputsThatSee(in.row), columns.OutputsThatSee(in.column), f);
  }

  PARTITA_HOST_DEVICE Run<T, kWidth> Load(const T* from) const { return LoadRun<kWidth>(from, apart); }

 private:
  Windows(const Pooling& pool, const RunsOfPixel& runs, int64_t x_pitch, int64_t y_pitch)
      : rows(pool.images.h, pool.images.out_h, pool.window.kernel_h, pool.window.stride_h, pool.window.top),
        columns(pool.images.w, pool.images.out_w, pool.window.kernel_w, pool.window.stride_w, pool.window.left),
        x(pool.images.h, pool.images.w, runs, x_pitch),
        y(pool.images.out_h, pool.images.out_w, runs, y_pitch),
        apart(runs.apart * static_cast<int64_t>(sizeof(T))) {}
};

// sum += gradients where `values` equals `largest` and not `earlier`.
template <typename T, int kWidth>
PARTITA_HOST_DEVICE void AddWhere(const Run<T, kWidth>& values, const Run<T, kWidth>& largest,
                                  const Run<T, kWidth>& earlier, const Run<T, kWidth>& gradients,
                                  Compute<T> (&sum)[kWidth]) {
  if constexpr (kInPairs<T, kWidth>) {
    RunWords<T, kWidth> is = EqualElements(values, largest);
    const RunWords<T, kWidth> again = EqualElements(values, earlier);
    for (int k = 0; k < is.kCount; ++k) is.at[k] &= ~again.at[k];
    Compute<T> selected[kWidth];
    Widen(Selected(gradients, is), selected);
    for (int k = 0; k < kWidth; ++k) sum[k] += selected[k];
  } else {
    for (int k = 0; k < kWidth; ++k) {
      const auto value = static_cast<Compute<T>>(values.at[k]);
      const bool is =
          value == static_cast<Compute<T>>(largest.at[k]) && value != static_cast<Compute<T>>(earlier.at[k]);
      sum[k] += is ? static_cast<Compute<T>>(gradients.at[k]) : 0;
    }
  }
}

template <typename T, int kWidth>
PARTITA_HOST_DEVICE Run<T, kWidth> Filled(Compute<T> value) {
  Run<T, kWidth> run;
  for (T& element : run.at) element = static_cast<T>(value);
  return run;
}

template <typename T, int kWidth, typename Index>
struct MaxPoolBody {
  const T* x;
  T* y;
  Windows<T, kWidth, Index> windows;

  PARTITA_HOST_DEVICE void operator()(int64_t index) const {
    const PixelPlace<Index> out = windows.y.PlaceOf(static_cast<Index>(index));
    auto best = Filled<T, kWidth>(-std::numeric_limits<Compute<T>>::infinity());
    windows.ForWindow(x, out, [&](const Run<T, kWidth>& values) { KeepLarger(values, best); });
    StoreRun(best, windows.y.AddressOf(y, out), windows.apart);
  }
};

// A window's gradient goes to its first element that equals its maximum; to none of a NaN. An element that does so is
// the first one if the largest of the earlier ones, which is at most as large, does not equal it.
template <typename T, int kWidth, typename Index>
struct MaxPoolGradBody {
  const T *x, *y, *dy;
  T* dx;
  Windows<T, kWidth, Index> windows;
  PixelRuns<Index> dy_runs, dx_runs;

  PARTITA_HOST_DEVICE void operator()(int64_t index) const {
    const PixelPlace<Index> in = windows.x.PlaceOf(static_cast<Index>(index));
    const Walked<Index, T> images[] = {{windows.x, windows.x.OriginOf(x, in)}};
    const Walked<Index, T> outputs[] = {{windows.y, windows.y.OriginOf(y, in)}, {dy_runs, dy_runs.OriginOf(dy, in)}};
    const Run<T, kWidth> values = windows.Load(windows.x.AddressOf(x, in));
    Compute<T> sum[kWidth] = {};
    windows.ForOutputsThatSee(outputs, in, [&](const T* const(&output)[2], Index row, Index column) {
      auto earlier = Filled<T, kWidth>(std::numeric_limits<Compute<T>>::quiet_NaN());  // none
      const auto keep = [&](const T* at) { KeepLargest(windows.Load(at), earlier); };
      const Span<Index> columns = windows.columns.WindowOf(column);
      ForPixels(images, {windows.rows.WindowOf(row).begin, in.row}, columns,
                [&](const T* const(&at)[1], Index, Index) { keep(at[0]); });
      ForPixels(images, {in.row, in.row + 1}, {columns.begin, in.column},
                [&](const T* const(&at)[1], Index, Index) { keep(at[0]); });
      AddWhere(values, windows.Load(output[0]), earlier, windows.Load(output[1]), sum);
    });
    StoreRun(Rounded<T>(sum), dx_runs.AddressOf(dx, in), windows.apart);
  }
};

// The number of pixels that a window sees in the image; at least 1, for windows that see padding alone.
template <typename A, typename Index>
PARTITA_HOST_DEVICE A PixelsOf(const Span<Index>& rows, const Span<Index>& columns) {
  const Index height = rows.end - rows.begin, width = columns.end - columns.begin;
  return height <= 0 || width <= 0 ? A(1) : static_cast<A>(height * width);
}

template <typename T, int kWidth, typename Index>
struct AveragePoolBody {
  using A = Compute<T>;
  const T* x;
  T* y;
  Windows<T, kWidth, Index> windows;
  A whole;  // the pixels of a window
  bool count_padding;

  PARTITA_HOST_DEVICE void operator()(int64_t index) const {
    const PixelPlace<Index> out = windows.y.PlaceOf(static_cast<Index>(index));
    A sum[kWidth] = {};
    windows.ForWindow(x, out, [&](const Run<T, kWidth>& run) {
      A values[kWidth];
      Widen(run, values);
      for (int k = 0; k < kWidth; ++k) sum[k] += values[k];
    });
    const A divisor =
        count_padding ? whole : PixelsOf<A>(windows.rows.WindowOf(out.row), windows.columns.WindowOf(out.column));
    for (A& value : sum) value /= divisor;
    StoreRun(Rounded<T>(sum), windows.y.AddressOf(y, out), windows.apart);
  }
};

// What windows of the full size give is added up before it is divided, by a product: rounding that once more is less
// than what the sum is rounded.
template <typename T, int kWidth, typename Index, bool kCountPadding>
struct AveragePoolGradBody {
  using A = Compute<T>;
  const T* dy;
  T* dx;
  Windows<T, kWidth, Index> windows;
  A whole, inverse;  // the pixels of a window, and 1 over that

  PARTITA_HOST_DEVICE void operator()(int64_t index) const {
    const PixelPlace<Index> in = windows.x.PlaceOf(static_cast<Index>(index));
    A sum[kWidth] = {}, of_smaller[kWidth] = {};
    const Walked<Index, T> outputs[] = {{windows.y, windows.y.OriginOf(dy, in)}};
    windows.ForOutputsThatSee(outputs, in, [&](const T* const(&output)[1], Index row, Index column) {
      A values[kWidth];
      Widen(windows.Load(output[0]), values);
      const A divisor =
          kCountPadding ? whole : PixelsOf<A>(windows.rows.WindowOf(row), windows.columns.WindowOf(column));
      if (kCountPadding || divisor == whole) {
        for (int k = 0; k < kWidth; ++k) sum[k] += values[k];
      } else {
        for (int k = 0; k < kWidth; ++k) of_smaller[k] += values[k] / divisor;
      }
    });
    for (int k = 0; k < kWidth; ++k) {
      sum[k] *= inverse;
      if (!kCountPadding) sum[k] += of_smaller[k];
    }
    StoreRun(Rounded<T>(sum), windows.x.AddressOf(dx, in), windows.apart);
  }
};

template <typename T, int kWidth, typename Index>
struct GlobalAveragePoolGradBody {
  using A = Compute<T>;
  const T* dy;
  T* dx;
  DivisorOf<Index> runs, pixels;  // of a pixel, a sample
  int64_t channels;
  A divisor;

  PARTITA_HOST_DEVICE void operator()(int64_t index) const {
    const auto pixel = runs(static_cast<Index>(index));
    A values[kWidth];
    Widen(LoadRun<kWidth>(dy + pixels(pixel.quotient).quotient * channels + pixel.rest * kWidth), values);
    for (A& value : values) value /= divisor;
    StoreRounded(values, dx + index * kWidth);
  }
};

int64_t InputPixels(const Images& s) { return s.n * s.h * s.w; }
int64_t OutputPixels(const Images& s) { return s.n * s.out_h * s.out_w; }

constexpr int64_t kMostIndex = std::numeric_limits<int32_t>::max();

// Whether 32 bits hold all indices of runs, all elements of a sample (`pitch`: the widest) and all positions that
// windows come to.
bool FitsInt32(const Pooling& pool, int64_t pitch, int width) {
  const Images& s = pool.images;
  const SlidingWindow& w = pool.window;
  const auto fits = [](int64_t pixels, int64_t outputs, int64_t kernel, int64_t stride, int64_t padding) {
    constexpr int64_t kMost = kMostIndex / 4;
    return pixels < kMost && kernel < kMost && stride < kMost && padding < kMost && padding > -kMost &&
           outputs < kMost / stride;
  };
  return InputPixels(s) * s.c / width < kMostIndex && OutputPixels(s) * s.c / width < kMostIndex &&
         s.h * s.w * pitch < kMostIndex && s.out_h * s.out_w * pitch < kMostIndex &&
         fits(s.h, s.out_h, w.kernel_h, w.stride_h, w.top) && fits(s.w, s.out_w, w.kernel_w, w.stride_w, w.left);
}

template <typename T>
bool TakesRuns(int64_t channels, std::initializer_list<const void*> operands) {
  bool takes = channels % kPackWidth<T> == 0;
  for (const void* operand : operands) takes = takes && IsPackAligned(operand);
  return takes;
}

InImages Read(const OutImages& images) { return {images.address, images.pitch}; }

// launch.operator()<Index, channels of a thread>(): by accesses of 16 bytes if addresses and channels of all operands
// allow it, else one channel; 32 bits if the sizes allow it.
template <typename T, typename F>
LaunchError WithRuns(const Pooling& pool, std::initializer_list<InImages> operands, const F& launch) {
  constexpr int kAccess = kPackWidth<T>;
  bool takes = true;
  int64_t widest = 0;
  for (const InImages& images : operands) {
    takes = takes && TakesRuns<T>(pool.images.c, {images.address}) && images.pitch % kAccess == 0;
    widest = Larger(widest, images.pitch);
  }
  if (takes && FitsInt32(pool, widest, kAccess)) return launch.template operator()<int32_t, kThreadWidth<T>>();
  return FitsInt32(pool, widest, 1) ? launch.template operator()<int32_t, 1>()
                                    : launch.template operator()<int64_t, 1>();
}

// body for each thread's channels of `pixels` pixels.
template <typename T, int kWidth, typename Body>
LaunchError ForRuns(int64_t pixels, int64_t channels, const Body& body, CudaQueue queue) {
  return ForEach(pixels * MakeRuns<T, kWidth>(channels).threads, body, queue);
}

}  // namespace

LaunchError MaxPool(DType dtype, const Pooling& pool, InImages x, OutImages y, CudaQueue queue) {
  return WithFloating(dtype, [&]<typename T>() {
    return WithRuns<T>(pool, {x, Read(y)}, [&]<typename Index, int kWidth>() {
      const MaxPoolBody<T, kWidth, Index> body{As<T>(x.address), As<T>(y.address), {pool, x.pitch, y.pitch}};
      return ForRuns<T, kWidth>(OutputPixels(pool.images), pool.images.c, body, queue);
    });
  });
}

LaunchError MaxPoolGrad(DType dtype, const Pooling& pool, InImages x, InImages y, InImages dy, OutImages dx,
                        CudaQueue queue) {
  return WithFloating(dtype, [&]<typename T>() {
    return WithRuns<T>(pool, {x, y, dy, Read(dx)}, [&]<typename Index, int kWidth>() {
      const Windows<T, kWidth, Index> gradients(pool, dx.pitch, dy.pitch);
      const MaxPoolGradBody<T, kWidth, Index> body{As<T>(x.address),  As<T>(y.address),         As<T>(dy.address),
                                                   As<T>(dx.address), {pool, x.pitch, y.pitch}, gradients.y,
                                                   gradients.x};
      return ForRuns<T, kWidth>(InputPixels(pool.images), pool.images.c, body, queue);
    });
  });
}

LaunchError AveragePool(DType dtype, const Pooling& pool, InImages x, OutImages y, CudaQueue queue) {
  return WithFloating(dtype, [&]<typename T>() {
    return WithRuns<T>(pool, {x, Read(y)}, [&]<typename Index, int kWidth>() {
      const auto whole = static_cast<Compute<T>>(pool.window.kernel_h * pool.window.kernel_w);
      const AveragePoolBody<T, kWidth, Index> body{
          As<T>(x.address), As<T>(y.address), {pool, x.pitch, y.pitch}, whole, pool.count_padding};
      return ForRuns<T, kWidth>(OutputPixels(pool.images), pool.images.c, body, queue);
    });
  });
}

LaunchError AveragePoolGrad(DType dtype, const Pooling& pool, InImages dy, OutImages dx, CudaQueue queue) {
  return WithFloating(dtype, [&]<typename T>() {
    return WithRuns<T>(pool, {dy, Read(dx)}, [&]<typename Index, int kWidth>() {
      const auto launch = [&]<bool kCountPadding>() {
        const auto whole = static_cast<Compute<T>>(pool.window.kernel_h * pool.window.kernel_w);
        const AveragePoolGradBody<T, kWidth, Index, kCountPadding> body{
            As<T>(dy.address), As<T>(dx.address), {pool, dx.pitch, dy.pitch}, whole, 1 / whole};
        return ForRuns<T, kWidth>(InputPixels(pool.images), pool.images.c, body, queue);
      };
      return pool.count_padding ? launch.template operator()<true>() : launch.template operator()<false>();
    });
  });
}

LaunchError GlobalAveragePoolGrad(DType dtype, ChannelRows x, int64_t pixels, double divisor, const void* dy, void* dx,
                                  CudaQueue queue) {
  return WithFloating(dtype, [&]<typename T>() {
    const auto launch = [&]<typename Index, int kWidth>() {
      const GlobalAveragePoolGradBody<T, kWidth, Index> body{As<T>(dy),
                                                             As<T>(dx),
                                                             DivisorOf<Index>(CeilDivide(x.channels, kWidth)),
                                                             DivisorOf<Index>(pixels),
                                                             x.channels,
                                                             static_cast<Compute<T>>(divisor)};
      return ForEach(x.elements() / kWidth, body, queue);
    };
    constexpr int kWidth = kPackWidth<T>;
    if (x.elements() / kWidth < kMostIndex && TakesRuns<T>(x.channels, {dy, dx})) {
      return launch.template operator()<int32_t, kWidth>();
    }
    return launch.template operator()<int64_t, 1>();
  });
}

}  // namespace partita::launch
