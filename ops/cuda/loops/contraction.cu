#include "ops/cuda/launch/contraction.h"
#include "ops/cuda/loops/elementwise.h"
#include "ops/functors/epilogue.h"

namespace partita::launch {
namespace {

// As the bodies of T take it.
template <typename T>
Epilogue<Compute<T>> Of(const EpilogueLaunch& epilogue) {
  return {As<Compute<T>>(epilogue.bias), epilogue.activation};
}

// One element of one of several products.
template <typename T, typename Y = T>
struct MatMulBody {
  const T *x, *w;
  Y* y;
  MatMulSizes s;
  Epilogue<Compute<T>> epilogue;
  BatchPlaces places;

  PARTITA_HOST_DEVICE void operator()(int64_t index) const {
    const BatchPlaces::Place at = places.At(index / s.n / s.m);
    const int64_t i = index / s.n % s.m, j = index % s.n;
    const int64_t x_step = s.transpose_x ? s.m : 1, w_step = s.transpose_w ? 1 : s.n;
    const T* a = x + at.x * s.m * s.k + (s.transpose_x ? i : i * s.k);
    const T* b = w + at.y * s.k * s.n + (s.transpose_w ? j * s.k : j);
    double sum = 0;
    for (int64_t l = 0; l < s.k; ++l) sum += static_cast<double>(a[l * x_step]) * static_cast<double>(b[l * w_step]);
    y[index] = static_cast<Y>(epilogue(sum, j));
  }
};

// One element of y.
template <typename T>
struct Conv2dBody {
  const T *x, *w;
  T* y;
  Convolution conv;
  Epilogue<Compute<T>> epilogue;

  PARTITA_HOST_DEVICE void operator()(int64_t index) const {
    const Images& size = conv.images;
    const int64_t o = index % size.out_c, j = index / size.out_c % size.out_w;
    const int64_t i = index / size.out_c / size.out_w % size.out_h, n = index / size.out_c / size.out_w / size.out_h;
    const int64_t depth = conv.group_c(), first = o / conv.group_out_c() * depth;
    double sum = 0;
    for (int64_t p = 0; p < conv.window.kernel_h; ++p) {
      for (int64_t q = 0; q < conv.window.kernel_w; ++q) {
        const int64_t pixel = conv.Pixel(n, i, j, p, q);
        if (pixel < 0) continue;
        const T* a = x + pixel * size.c + first;
        const T* b = w + ((o * conv.window.kernel_h + p) * conv.window.kernel_w + q) * depth;
        for (int64_t k = 0; k < depth; ++k) sum += static_cast<double>(a[k]) * static_cast<double>(b[k]);
      }
    }
    y[conv.y.At(n, i, j) * size.out_c + o] = static_cast<T>(epilogue(sum, o));
  }
};

template <typename A>
struct EpilogueElement {
  Epilogue<A> epilogue;
  PARTITA_HOST_DEVICE void operator()(RowChannel place, const A* x, A* y) const {
    y[0] = epilogue(x[0], place.channel);
  }
};

// One element of a part of larger images.
template <typename T>
struct PartEpilogueBody {
  T* y;
  Convolution conv;
  Epilogue<Compute<T>> epilogue;

  PARTITA_HOST_DEVICE void operator()(int64_t index) const {
    const Images& size = conv.images;
    const int64_t o = index % size.out_c, j = index / size.out_c % size.out_w;
    const int64_t i = index / size.out_c / size.out_w % size.out_h, n = index / size.out_c / size.out_w / size.out_h;
    T& element = y[conv.y.At(n, i, j) * size.out_c + o];
    element = static_cast<T>(epilogue(static_cast<Compute<T>>(element), o));
  }
};

// One element of dx gathers from all outputs that see it.
template <typename T>
struct Conv2dInputGradBody {
  const T *dy, *w;
  T* dx;
  Convolution conv;

  PARTITA_HOST_DEVICE void operator()(int64_t index) const {
    const Images& size = conv.images;
    const SlidingWindow& window = conv.window;
    const int64_t c = index % size.c, column = index / size.c % size.w;
    const int64_t row = index / size.c / size.w % size.h, n = index / size.c / size.w / size.h;
    const int64_t depth = conv.group_c(), outs = conv.group_out_c(), first = c / depth * outs;
    double sum = 0;
    for (int64_t p = 0; p < window.kernel_h; ++p) {
      const int64_t i = OutputAtTap(row, p, window.top, window.stride_h, window.dilation_h, size.out_h);
      if (i < 0) continue;
      for (int64_t q = 0; q < window.kernel_w; ++q) {
        const int64_t j = OutputAtTap(column, q, window.left, window.stride_w, window.dilation_w, size.out_w);
        if (j < 0) continue;
        const T* a = dy + ((n * size.out_h + i) * size.out_w + j) * size.out_c;
        for (int64_t o = first; o < first + outs; ++o) {
          const int64_t at = ((o * window.kernel_h + p) * window.kernel_w + q) * depth + c % depth;
          sum += static_cast<double>(a[o]) * static_cast<double>(w[at]);
        }
      }
    }
    dx[index] = static_cast<T>(sum);
  }
};

// One element of dw per block; its threads share the output pixels.
template <typename T>
struct Conv2dWeightGradBody {
  using Value = double;
  const T *x, *dy;
  T* dw;
  Convolution conv;

  template <int kLanes, int kDepth>
  PARTITA_HOST_DEVICE double Partial(int64_t index, int, int depth) const {
    const Images& size = conv.images;
    const int64_t k = index % conv.group_c(), q = index / conv.group_c() % conv.window.kernel_w;
    const int64_t p = index / conv.group_c() / conv.window.kernel_w % conv.window.kernel_h;
    const int64_t o = index / conv.group_c() / conv.window.kernel_w / conv.window.kernel_h;
    const int64_t c = o / conv.group_out_c() * conv.group_c() + k;
    const int64_t pixels = size.n * size.out_h * size.out_w;
    double sum = 0;
    for (int64_t out = depth; out < pixels; out += kDepth) {
      const int64_t j = out % size.out_w, i = out / size.out_w % size.out_h, n = out / size.out_w / size.out_h;
      const int64_t pixel = conv.Pixel(n, i, j, p, q);
      if (pixel < 0) continue;
      sum += static_cast<double>(x[pixel * size.c + c]) * static_cast<double>(dy[out * size.out_c + o]);
    }
    return sum;
  }
  PARTITA_HOST_DEVICE void Combine(double& sum, double more) const { sum += more; }
  template <int kLanes>
  PARTITA_HOST_DEVICE void Store(int64_t index, int, double sum) const {
    dw[index] = static_cast<T>(sum);
  }
};

}  // namespace

LaunchError MatMul(DType dtype, const MatMulSizes& sizes, const EpilogueLaunch& epilogue, const void* x, const void* w,
                   void* y, CudaQueue queue) {
  return WithFloating(dtype, [&]<typename T>() {
    const MatMulBody<T> body{As<T>(x), As<T>(w), As<T>(y), sizes, Of<T>(epilogue), {}};
    return ForEach(sizes.m * sizes.n, body, queue);
  });
}

LaunchError BatchMatMul(DType dtype, const BatchPlaces& places, const MatMulSizes& sizes, const void* x, const void* w,
                        void* y, CudaQueue queue) {
  return WithFloating(dtype, [&]<typename T>() {
    const MatMulBody<T> body{As<T>(x), As<T>(w), As<T>(y), sizes, {}, places};
    return ForEach(places.count() * sizes.m * sizes.n, body, queue);
  });
}

LaunchError WideMatMul(DType dtype, const MatMulSizes& sizes, const EpilogueLaunch& epilogue, const void* x,
                       const void* w, void* y, CudaQueue queue) {
  return WithFloating(dtype, [&]<typename T>() {
    const MatMulBody<T, Compute<T>> body{As<T>(x), As<T>(w), As<Compute<T>>(y), sizes, Of<T>(epilogue), {}};
    return ForEach(sizes.m * sizes.n, body, queue);
  });
}

LaunchError Conv2d(DType dtype, const Convolution& conv, const EpilogueLaunch& epilogue, const void* x, const void* w,
                   void* y, CudaQueue queue) {
  const Images& size = conv.images;
  return WithFloating(dtype, [&]<typename T>() {
    const Conv2dBody<T> body{As<T>(x), As<T>(w), As<T>(y), conv, Of<T>(epilogue)};
    return ForEach(size.n * size.out_h * size.out_w * size.out_c, body, queue);
  });
}

LaunchError AddEpilogue(DType dtype, ChannelRows shape, const EpilogueLaunch& epilogue, void* y, CudaQueue queue) {
  return WithFloating(dtype, [&]<typename T>() {
    const EpilogueElement<Compute<T>> element{Of<T>(epilogue)};
    return ForElements<T>({As<T>(static_cast<const void*>(y))}, {As<T>(y)}, shape, element, queue);
  });
}

LaunchError AddEpilogue(DType dtype, const Convolution& conv, const EpilogueLaunch& epilogue, void* y,
                        CudaQueue queue) {
  const Images& size = conv.images;
  const int64_t pixels = size.n * size.out_h * size.out_w;
  if (conv.y.start == 0 && conv.y.rows == size.out_h && conv.y.columns == size.out_w) {
    return AddEpilogue(dtype, ChannelRows{pixels, size.out_c}, epilogue, y, queue);
  }
  return WithFloating(dtype, [&]<typename T>() {
    return ForEach(pixels * size.out_c, PartEpilogueBody<T>{As<T>(y), conv, Of<T>(epilogue)}, queue);
  });
}

LaunchError Conv2dInputGrad(DType dtype, const Convolution& conv, const void* dy, const void* w, void* dx,
                            CudaQueue queue) {
  const Images& size = conv.images;
  return WithFloating(dtype, [&]<typename T>() {
    return ForEach(size.n * size.h * size.w * size.c, Conv2dInputGradBody<T>{As<T>(dy), As<T>(w), As<T>(dx), conv},
                   queue);
  });
}

LaunchError Conv2dWeightGrad(DType dtype, const Convolution& conv, const void* x, const void* dy, void* dw,
                             CudaQueue queue) {
  return WithFloating(dtype, [&]<typename T>() {
    return Reduce<1, kBlockThreads>(conv.weights(), Conv2dWeightGradBody<T>{As<T>(x), As<T>(dy), As<T>(dw), conv},
                                    queue);
  });
}

}  // namespace partita::launch
