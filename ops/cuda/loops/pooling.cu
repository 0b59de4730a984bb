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

PARTITA_HOST_DEVICE inline int64_t InputIndex(const Images& s, int64_t n, int64_t row, int64_t column, int64_t c) {
  return ((n * s.h + row) * s.w + column) * s.c + c;
}
PARTITA_HOST_DEVICE inline int64_t OutputIndex(const Images& s, int64_t n, int64_t i, int64_t j, int64_t c) {
  return ((n * s.out_h + i) * s.out_w + j) * s.c + c;
}

template <typename T>
struct MaxPoolBody {
  const T* x;
  T* y;
  Pooling pool;

  PARTITA_HOST_DEVICE void operator()(int64_t index) const {
    const Pixel out(index, pool.images.out_h, pool.images.out_w, pool.images.c);
    Compute<T> best = -std::numeric_limits<Compute<T>>::infinity();
    for (int64_t row = pool.RowBegin(out.row); row < pool.RowEnd(out.row); ++row) {
      for (int64_t column = pool.ColumnBegin(out.column); column < pool.ColumnEnd(out.column); ++column) {
        const auto value = static_cast<Compute<T>>(x[InputIndex(pool.images, out.n, row, column, out.c)]);
        if (Exceeds(value, best)) best = value;
      }
    }
    y[index] = static_cast<T>(best);
  }
};

// The first element of each window that equals its maximum, as row * w + column of the image; -1: none does (NaN).
template <typename T>
struct WinnersBody {
  const T *x, *y;
  int32_t* winners;
  Pooling pool;

  PARTITA_HOST_DEVICE void operator()(int64_t index) const {
    const Pixel out(index, pool.images.out_h, pool.images.out_w, pool.images.c);
    winners[index] = -1;
    const auto best = static_cast<Compute<T>>(y[index]);
    for (int64_t row = pool.RowBegin(out.row); row < pool.RowEnd(out.row); ++row) {
      for (int64_t column = pool.ColumnBegin(out.column); column < pool.ColumnEnd(out.column); ++column) {
        if (static_cast<Compute<T>>(x[InputIndex(pool.images, out.n, row, column, out.c)]) != best) continue;
        winners[index] = static_cast<int32_t>(row * pool.images.w + column);
        return;
      }
    }
  }
};

template <typename T>
struct MaxPoolGradBody {
  const T* dy;
  const int32_t* winners;
  T* dx;
  Pooling pool;

  PARTITA_HOST_DEVICE void operator()(int64_t index) const {
    const Pixel in(index, pool.images.h, pool.images.w, pool.images.c);
    const IndexRange rows = pool.RowsThatSee(in.row), columns = pool.ColumnsThatSee(in.column);
    const int64_t self = in.row * pool.images.w + in.column;
    Compute<T> sum = 0;
    for (int64_t i = rows.begin; i < rows.end; ++i) {
      for (int64_t j = columns.begin; j < columns.end; ++j) {
        const int64_t out = OutputIndex(pool.images, in.n, i, j, in.c);
        if (winners[out] == self) sum += static_cast<Compute<T>>(dy[out]);
      }
    }
    dx[index] = static_cast<T>(sum);
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
    for (int64_t row = pool.RowBegin(out.row); row < pool.RowEnd(out.row); ++row) {
      for (int64_t column = pool.ColumnBegin(out.column); column < pool.ColumnEnd(out.column); ++column) {
        sum += static_cast<Compute<T>>(x[InputIndex(pool.images, out.n, row, column, out.c)]);
      }
    }
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
    const IndexRange rows = pool.RowsThatSee(in.row), columns = pool.ColumnsThatSee(in.column);
    Compute<T> sum = 0;
    for (int64_t i = rows.begin; i < rows.end; ++i) {
      for (int64_t j = columns.begin; j < columns.end; ++j) {
        const Compute<T> share = static_cast<Compute<T>>(dy[OutputIndex(pool.images, in.n, i, j, in.c)]);
        sum += share / static_cast<Compute<T>>(pool.Divisor(i, j));
      }
    }
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
                        int32_t* winners, CudaQueue queue) {
  return WithFloating(dtype, [&]<typename T>() {
    const WinnersBody<T> find{As<T>(x), As<T>(y), winners, pool};
    if (const LaunchError error = ForEach(OutputElements(pool.images), find, queue); error != kLaunched) return error;
    return ForEach(InputElements(pool.images), MaxPoolGradBody<T>{As<T>(dy), winners, As<T>(dx), pool}, queue);
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

LaunchError GlobalAveragePoolGrad(DType dtype, Rows x, int64_t pixels, double divisor, const void* dy, void* dx,
                                  CudaQueue queue) {
  return WithFloating(dtype, [&]<typename T>() {
    const GlobalAveragePoolGradBody<T> body{As<T>(dy), As<T>(dx), x.channels, pixels, static_cast<Compute<T>>(divisor)};
    return ForEach(x.elements(), body, queue);
  });
}

}  // namespace partita::launch
