#include <initializer_list>
#include <limits>

#include "ops/cuda/launch/pooling.h"
#include "ops/cuda/loops/elementwise.h"
#include "ops/cuda/loops/images/pooling_windows.h"
#include "ops/cuda/loops/runs.h"
#include "ops/functors/pairs.h"

namespace partita::launch {
namespace {

// What all bodies have: the images x and y, or their gradients, and the windows between them.
template <typename Index, int kWidth>
struct Windows {
  PoolingAxis<Index> rows, columns;
  PixelRuns<Index> x, y;

  Windows(const Pooling& pool, int64_t x_pitch, int64_t y_pitch)
      : rows(pool.images.h, pool.images.out_h, pool.window.kernel_h, pool.window.stride_h, pool.window.top),
        columns(pool.images.w, pool.images.out_w, pool.window.kernel_w, pool.window.stride_w, pool.window.left),
        x(pool.images.h, pool.images.w, pool.images.c, x_pitch, kWidth),
        y(pool.images.out_h, pool.images.out_w, pool.images.c, y_pitch, kWidth) {}

  // f(address in `images`, which are x) for the window of a pixel of y.
  template <typename T, typename F>
  PARTITA_HOST_DEVICE void ForWindow(const T* images, const PixelPlace<Index>& out, const F& f) const {
    const Walked<Index, T> walked[] = {{x, x.OriginOf(images, out)}};
    ForPixels(walked, rows.WindowOf(out.row), columns.WindowOf(out.column),
              [&](const T* const(&at)[1], Index, Index) { f(at[0]); });
  }

  // f(addresses in `outputs`, which have the pixels of y, row, column) for the windows that see a pixel of x.
  template <int kImages, typename T, typename F>
  PARTITA_HOST_DEVICE void ForOutputsThatSee(const Walked<Index, T> (&outputs)[kImages], const PixelPlace<Index>& in,
                                             const F& f) const {
    ForPixels(outputs, rows.OutputsThatSee(in.row), columns.OutputsThatSee(in.column), f);
  }
};

template <typename T, int kWidth, typename Index>
struct MaxPoolBody {
  const T* x;
  T* y;
  Windows<Index, kWidth> windows;

  PARTITA_HOST_DEVICE void operator()(int64_t index) const {
    const PixelPlace<Index> out = windows.y.PlaceOf(static_cast<Index>(index));
    Run<T, kWidth> best;
    for (T& value : best.at) value = static_cast<T>(-std::numeric_limits<Compute<T>>::infinity());
    windows.ForWindow(x, out, [&](const T* at) { KeepLarger(LoadRun<kWidth>(at), best); });
    *reinterpret_cast<Run<T, kWidth>*>(windows.y.AddressOf(y, out)) = best;
  }
};

// A window's gradient goes to its first element that equals its maximum; to none of a NaN.
template <typename T, int kWidth, typename Index>
struct MaxPoolGradBody {
  const T *x, *y, *dy;
  T* dx;
  Windows<Index, kWidth> windows;
  PixelRuns<Index> dy_runs, dx_runs;

  PARTITA_HOST_DEVICE void operator()(int64_t index) const {
    const PixelPlace<Index> in = windows.x.PlaceOf(static_cast<Index>(index));
    const Run<T, kWidth> values = LoadRun<kWidth>(windows.x.AddressOf(x, in));
    const Walked<Index, T> window[] = {{windows.x, windows.x.OriginOf(x, in)}};
    const Walked<Index, T> outputs[] = {{windows.y, windows.y.OriginOf(y, in)}, {dy_runs, dy_runs.OriginOf(dy, in)}};
    Compute<T> sum[kWidth] = {};
    windows.ForOutputsThatSee(outputs, in, [&](const T* const(&output)[2], Index row, Index column) {
      RunWords<T, kWidth> is = EqualElements(values, LoadRun<kWidth>(output[0]));
      const auto drop = [&](const T* const(&earlier)[1], Index, Index) {
        const RunWords<T, kWidth> equal = EqualElements(values, LoadRun<kWidth>(earlier[0]));
        for (int k = 0; k < is.kCount; ++k) is.at[k] &= ~equal.at[k];
      };
      const Span<Index> columns = windows.columns.WindowOf(column);
      ForPixels(window, {windows.rows.WindowOf(row).begin, in.row}, columns, drop);
      ForPixels(window, {in.row, in.row + 1}, {columns.begin, in.column}, drop);
      Compute<T> gradients[kWidth];
      Widen(Selected(LoadRun<kWidth>(output[1]), is), gradients);
      for (int k = 0; k < kWidth; ++k) sum[k] += gradients[k];
    });
    StoreRounded(sum, dx_runs.AddressOf(dx, in));
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
  Windows<Index, kWidth> windows;
  A whole;  // the pixels of a window
  bool count_padding;

  PARTITA_HOST_DEVICE void operator()(int64_t index) const {
    const PixelPlace<Index> out = windows.y.PlaceOf(static_cast<Index>(index));
    A sum[kWidth] = {};
    windows.ForWindow(x, out, [&](const T* at) {
      A values[kWidth];
      Widen(LoadRun<kWidth>(at), values);
      for (int k = 0; k < kWidth; ++k) sum[k] += values[k];
    });
    const A divisor =
        count_padding ? whole : PixelsOf<A>(windows.rows.WindowOf(out.row), windows.columns.WindowOf(out.column));
    for (A& value : sum) value /= divisor;
    StoreRounded(sum, windows.y.AddressOf(y, out));
  }
};

// What windows of the full size give is added up before it is divided, by a product: rounding that once more is less
// than what the sum is rounded.
template <typename T, int kWidth, typename Index, bool kCountPadding>
struct AveragePoolGradBody {
  using A = Compute<T>;
  const T* dy;
  T* dx;
  Windows<Index, kWidth> windows;
  A whole, inverse;  // the pixels of a window, and 1 over that

  PARTITA_HOST_DEVICE void operator()(int64_t index) const {
    const PixelPlace<Index> in = windows.x.PlaceOf(static_cast<Index>(index));
    A sum[kWidth] = {}, of_smaller[kWidth] = {};
    const Walked<Index, T> outputs[] = {{windows.y, windows.y.OriginOf(dy, in)}};
    windows.ForOutputsThatSee(outputs, in, [&](const T* const(&output)[1], Index row, Index column) {
      A values[kWidth];
      Widen(LoadRun<kWidth>(output[0]), values);
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
    StoreRounded(sum, windows.x.AddressOf(dx, in));
  }
};

template <typename T, int kWidth, typename Index>
struct GlobalAveragePoolGradBody {
  using A = Compute<T>;
  const T* dy;
  T* dx;
  Divisor runs, pixels;  // of a pixel, a sample
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

int64_t InputElements(const Images& s) { return s.n * s.h * s.w * s.c; }
int64_t OutputElements(const Images& s) { return s.n * s.out_h * s.out_w * s.c; }

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
  return InputElements(s) / width < kMostIndex && OutputElements(s) / width < kMostIndex &&
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

// launch.operator()<Index, channels of a thread>(): 16 bytes of each operand if addresses and channels allow it, else
// one channel; 32 bits if the sizes allow it.
template <typename T, typename F>
LaunchError WithRuns(const Pooling& pool, std::initializer_list<InImages> operands, const F& launch) {
  constexpr int kWidth = kPackWidth<T>;
  bool takes = true;
  int64_t widest = 0;
  for (const InImages& images : operands) {
    takes = takes && TakesRuns<T>(pool.images.c, {images.address}) && images.pitch % kWidth == 0;
    widest = Larger(widest, images.pitch);
  }
  if (takes && FitsInt32(pool, widest, kWidth)) return launch.template operator()<int32_t, kWidth>();
  return FitsInt32(pool, widest, 1) ? launch.template operator()<int32_t, 1>()
                                    : launch.template operator()<int64_t, 1>();
}

}  // namespace

LaunchError MaxPool(DType dtype, const Pooling& pool, InImages x, OutImages y, CudaQueue queue) {
  return WithFloating(dtype, [&]<typename T>() {
    return WithRuns<T>(pool, {x, Read(y)}, [&]<typename Index, int kWidth>() {
      const MaxPoolBody<T, kWidth, Index> body{As<T>(x.address), As<T>(y.address),
                                               Windows<Index, kWidth>(pool, x.pitch, y.pitch)};
      return ForEach(OutputElements(pool.images) / kWidth, body, queue);
    });
  });
}

LaunchError MaxPoolGrad(DType dtype, const Pooling& pool, InImages x, InImages y, InImages dy, OutImages dx,
                        CudaQueue queue) {
  return WithFloating(dtype, [&]<typename T>() {
    return WithRuns<T>(pool, {x, y, dy, Read(dx)}, [&]<typename Index, int kWidth>() {
      const Windows<Index, kWidth> gradients(pool, dx.pitch, dy.pitch);
      const MaxPoolGradBody<T, kWidth, Index> body{As<T>(x.address),
                                                   As<T>(y.address),
                                                   As<T>(dy.address),
                                                   As<T>(dx.address),
                                                   Windows<Index, kWidth>(pool, x.pitch, y.pitch),
                                                   gradients.y,
                                                   gradients.x};
      return ForEach(InputElements(pool.images) / kWidth, body, queue);
    });
  });
}

LaunchError AveragePool(DType dtype, const Pooling& pool, InImages x, OutImages y, CudaQueue queue) {
  return WithFloating(dtype, [&]<typename T>() {
    return WithRuns<T>(pool, {x, Read(y)}, [&]<typename Index, int kWidth>() {
      const auto whole = static_cast<Compute<T>>(pool.window.kernel_h * pool.window.kernel_w);
      const AveragePoolBody<T, kWidth, Index> body{As<T>(x.address), As<T>(y.address),
                                                   Windows<Index, kWidth>(pool, x.pitch, y.pitch), whole,
                                                   pool.count_padding};
      return ForEach(OutputElements(pool.images) / kWidth, body, queue);
    });
  });
}

LaunchError AveragePoolGrad(DType dtype, const Pooling& pool, InImages dy, OutImages dx, CudaQueue queue) {
  return WithFloating(dtype, [&]<typename T>() {
    return WithRuns<T>(pool, {dy, Read(dx)}, [&]<typename Index, int kWidth>() {
      const auto launch = [&]<bool kCountPadding>() {
        const auto whole = static_cast<Compute<T>>(pool.window.kernel_h * pool.window.kernel_w);
        const AveragePoolGradBody<T, kWidth, Index, kCountPadding> body{
            As<T>(dy.address), As<T>(dx.address), Windows<Index, kWidth>(pool, dx.pitch, dy.pitch), whole, 1 / whole};
        return ForEach(InputElements(pool.images) / kWidth, body, queue);
      };
      return pool.count_padding ? launch.template operator()<true>() : launch.template operator()<false>();
    });
  });
}

LaunchError GlobalAveragePoolGrad(DType dtype, ChannelRows x, int64_t pixels, double divisor, const void* dy, void* dx,
                                  CudaQueue queue) {
  return WithFloating(dtype, [&]<typename T>() {
    const auto launch = [&]<typename Index, int kWidth>() {
      const GlobalAveragePoolGradBody<T, kWidth, Index> body{
          As<T>(dy),       As<T>(dx),  Divisor(CeilDivide(x.channels, kWidth)),
          Divisor(pixels), x.channels, static_cast<Compute<T>>(divisor)};
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
