#include <limits>

#include "ops/cuda/launch/pooling.h"
#include "ops/cuda/loops/elementwise.h"
#include "ops/functors/maximum.h"

namespace partita::launch {
namespace {

// Indices of an element of [n,height,width,c].
struct Pixel {
  int64_t n, row, column, c;
  PARTITA_HOST_DEVICE Pixel(int64_t index, int64_t height, int64_t width, int64_t channels) {
    c = index % channels;
    index /= channels;
    column = index % width;
    index /= width;
    row = index % height;
    n = index / height;
  }
};

// Calls f(index in x) for the elements of an output's window, in row-major order.
template <typename F>
PARTITA_HOST_DEVICE void ForWindow(const Pooling& pool, const Pixel& out, const F& f) {
  const Images& s = pool.images;
  for (int64_t row = pool.RowBegin(out.row); row < pool.RowEnd(out.row); ++row) {
    for (int64_t column = pool.ColumnBegin(out.column); column < pool.ColumnEnd(out.column); ++column) {
      f(((out.n * s.h + row) * s.w + column) * s.c + out.c);
    }
  }
}

// Calls f(index in y, i, j) for the outputs (i, j) whose windows see an element of x, in row-major order.
template <typename F>
PARTITA_HOST_DEVICE void ForOutputsThatSee(const Pooling& pool, const Pixel& in, const F& f) {
  const Images& s = pool.images;
  const IndexRange rows = pool.RowsThatSee(in.row), columns = pool.ColumnsThatSee(in.column);
  for (int64_t i = rows.begin; i < rows.end; ++i) {
    for (int64_t j = columns.begin; j < columns.end; ++j) f(((in.n * s.out_h + i) * s.out_w + j) * s.c + in.c, i, j);
  }
}

template <typename T>
struct MaxPoolBody {
  const T* x;
  T* y;
  Pooling pool;

  PARTITA_HOST_DEVICE void operator()(int64_t index) const {
    const Pixel out(index, pool.images.out_h, pool.images.out_w, pool.images.c);
    Compute<T> best = -std::numeric_limits<Compute<T>>::infinity();
    ForWindow(pool, out, [&](int64_t at) {
      const auto value = static_cast<Compute<T>>(x[at]);
      if (Exceeds(value, best)) best = value;
    });
    y[index] = static_cast<T>(best);
  }
};

// A window's gradient goes to its first element that equals its maximum; to none of a NaN.
template <typename T>
struct MaxPoolGradBody {
  const T *x, *y, *dy;
  T* dx;
  Pooling pool;

  PARTITA_HOST_DEVICE void operator()(int64_t index) const {
    const Pixel in(index, pool.images.h, pool.images.w, pool.images.c);
    const auto value = static_cast<Compute<T>>(x[index]);
    Compute<T> sum = 0;
    ForOutputsThatSee(pool, in, [&](int64_t out, int64_t i, int64_t j) {
      if (value == static_cast<Compute<T>>(y[out]) && IsFirst(in, value, i, j)) sum += static_cast<Compute<T>>(dy[out]);
    });
    dx[index] = static_cast<T>(sum);
  }

  // Whether nothing before it in the window of output (i, j) is equal. Only a maximum is asked, one of a window or few.
  PARTITA_HOST_DEVICE bool IsFirst(const Pixel& in, Compute<T> value, int64_t i, int64_t j) const {
    const Images& s = pool.images;
    for (int64_t row = pool.RowBegin(i); row <= in.row; ++row) {
      const int64_t end = row == in.row ? in.column : pool.ColumnEnd(j);
      for (int64_t column = pool.ColumnBegin(j); column < end; ++column) {
        if (static_cast<Compute<T>>(x[((in.n * s.h + row) * s.w + column) * s.c + in.c]) == value) return false;
      }
    }
    return true;
  }
};

template <typename T>
struct AveragePoolBody {
  const T* x;
  T* y;
  Pooling pool;

  PARTITA_HOST_DEVICE void operator()(int64_t index) const {
    const Pixel out(index, pool.images.out_h, pool.images.out_w, pool.images.c);
    Compute<T> sum = 0;
    ForWindow(pool, out, [&](int64_t at) { sum += static_cast<Compute<T>>(x[at]); });
    y[index] = static_cast<T>(sum / static_cast<Compute<T>>(pool.Divisor(out.row, out.column)));
  }
};

template <typename T>
struct AveragePoolGradBody {
  const T* dy;
  T* dx;
  Pooling pool;

  PARTITA_HOST_DEVICE void operator()(int64_t index) const {
    const Pixel in(index, pool.images.h, pool.images.w, pool.images.c);
    Compute<T> sum = 0;
    ForOutputsThatSee(pool, in, [&](int64_t out, int64_t i, int64_t j) {
      sum += static_cast<Compute<T>>(dy[out]) / static_cast<Compute<T>>(pool.Divisor(i, j));
    });
    dx[index] = static_cast<T>(sum);
  }
};

template <typename T>
struct GlobalAveragePoolGradBody {
  const T* dy;
  T* dx;
  int64_t channels, pixels;
  Compute<T> divisor;

  PARTITA_HOST_DEVICE void operator()(int64_t index) const {
    const int64_t sample = index / channels / pixels;
    dx[index] = static_cast<T>(static_cast<Compute<T>>(dy[sample * channels + index % channels]) / divisor);
  }
};

int64_t InputElements(const Images& s) { return s.n * s.h * s.w * s.c; }
int64_t OutputElements(const Images& s) { return s.n * s.out_h * s.out_w * s.c; }

}  // namespace

LaunchError MaxPool(DType dtype, const Pooling& pool, const void* x, void* y, CudaQueue queue) {
  return WithFloating(dtype, [&]<typename T>() {
    return ForEach(OutputElements(pool.images), MaxPoolBody<T>{As<T>(x), As<T>(y), pool}, queue);
  });
}

LaunchError MaxPoolGrad(DType dtype, const Pooling& pool, const void* x, const void* y, const void* dy, void* dx,
                        CudaQueue queue) {
  return WithFloating(dtype, [&]<typename T>() {
    const MaxPoolGradBody<T> body{As<T>(x), As<T>(y), As<T>(dy), As<T>(dx), pool};
    return ForEach(InputElements(pool.images), body, queue);
  });
}

LaunchError AveragePool(DType dtype, const Pooling& pool, const void* x, void* y, CudaQueue queue) {
  return WithFloating(dtype, [&]<typename T>() {
    return ForEach(OutputElements(pool.images), AveragePoolBody<T>{As<T>(x), As<T>(y), pool}, queue);
  });
}

LaunchError AveragePoolGrad(DType dtype, const Pooling& pool, const void* dy, void* dx, CudaQueue queue) {
  return WithFloating(dtype, [&]<typename T>() {
    return ForEach(InputElements(pool.images), AveragePoolGradBody<T>{As<T>(dy), As<T>(dx), pool}, queue);
  });
}

LaunchError GlobalAveragePoolGrad(DType dtype, ChannelRows x, int64_t pixels, double divisor, const void* dy, void* dx,
                                  CudaQueue queue) {
  return WithFloating(dtype, [&]<typename T>() {
    const GlobalAveragePoolGradBody<T> body{As<T>(dy), As<T>(dx), x.channels, pixels, static_cast<Compute<T>>(divisor)};
    return ForEach(x.elements(), body, queue);
  });
}

}  // namespace partita::launch
