// Reference kernels of pooling. A gradient adds into dx window by window, in row-major order of the output pixels.
#include <limits>

#include "ops/functors/pairs.h"
#include "ops/host/reference/reference_kernels.h"
#include "ops/values/node_geometry.h"

namespace partita {
namespace {

int64_t InputIndex(const Images& size, int64_t n, int64_t row, int64_t column, int64_t c) {
  return ((n * size.h + row) * size.w + column) * size.c + c;
}

// Calls f(n, i, j, c, index in y) for every element of y.
template <typename F>
void ForEveryOutput(const Images& size, const F& f) {
  int64_t y = 0;
  for (int64_t n = 0; n < size.n; ++n) {
    for (int64_t i = 0; i < size.out_h; ++i) {
      for (int64_t j = 0; j < size.out_w; ++j) {
        for (int64_t c = 0; c < size.c; ++c) f(n, i, j, c, y++);
      }
    }
  }
}

// Calls f(index in x) for the elements of output (n, i, j, c)'s window, in row-major order.
template <typename F>
void ForWindow(const Pooling& pool, int64_t n, int64_t i, int64_t j, int64_t c, const F& f) {
  for (int64_t row = pool.RowBegin(i); row < pool.RowEnd(i); ++row) {
    for (int64_t column = pool.ColumnBegin(j); column < pool.ColumnEnd(j); ++column) {
      f(InputIndex(pool.images, n, row, column, c));
    }
  }
}

}  // namespace

absl::StatusOr<PreparedKernel> ReferenceMaxPool(const LocalNode& node) {
  const Pooling pool = MakePooling(Input(node, 0), node.outputs[0], node.attributes);
  return PreparedFloating(node.outputs[0].dtype, [pool]<typename T>(const KernelArguments& a) {
    ForEveryOutput(pool.images, [&](int64_t n, int64_t i, int64_t j, int64_t c, int64_t y) {
      T best = -std::numeric_limits<T>::infinity();
      ForWindow(pool, n, i, j, c, [&](int64_t x) {
        if (Exceeds(In<T>(a, 0)[x], best)) best = In<T>(a, 0)[x];
      });
      Out<T>(a, 0)[y] = best;
    });
  });
}

absl::StatusOr<PreparedKernel> ReferenceMaxPoolGrad(const LocalNode& node) {
  const Pooling pool = MakePooling(Input(node, 0), Input(node, 1), node.attributes);
  const int64_t elements = node.outputs[0].elements();
  return PreparedFloating(node.outputs[0].dtype, [=]<typename T>(const KernelArguments& a) {
    const T *in = In<T>(a, 0), *out = In<T>(a, 1), *dy = In<T>(a, 2);
    T* dx = Out<T>(a, 0);
    for (int64_t x = 0; x < elements; ++x) dx[x] = 0;
    ForEveryOutput(pool.images, [&](int64_t n, int64_t i, int64_t j, int64_t c, int64_t y) {
      bool found = false;
      ForWindow(pool, n, i, j, c, [&](int64_t x) {
        if (found || in[x] != out[y]) return;
        dx[x] += dy[y];
        found = true;
      });
    });
  });
}

absl::StatusOr<PreparedKernel> ReferenceAveragePool(const LocalNode& node) {
  const Pooling pool = MakePooling(Input(node, 0), node.outputs[0], node.attributes);
  return PreparedFloating(node.outputs[0].dtype, [pool]<typename T>(const KernelArguments& a) {
    ForEveryOutput(pool.images, [&](int64_t n, int64_t i, int64_t j, int64_t c, int64_t y) {
      T sum = 0;
      ForWindow(pool, n, i, j, c, [&](int64_t x) { sum += In<T>(a, 0)[x]; });
      Out<T>(a, 0)[y] = sum / static_cast<T>(pool.Divisor(i, j));
    });
  });
}

absl::StatusOr<PreparedKernel> ReferenceAveragePoolGrad(const LocalNode& node) {
  const Pooling pool = MakePooling(node.outputs[0], Input(node, 0), node.attributes);
  const int64_t elements = node.outputs[0].elements();
  return PreparedFloating(node.outputs[0].dtype, [=]<typename T>(const KernelArguments& a) {
    T* dx = Out<T>(a, 0);
    for (int64_t x = 0; x < elements; ++x) dx[x] = 0;
    ForEveryOutput(pool.images, [&](int64_t n, int64_t i, int64_t j, int64_t c, int64_t y) {
      const T share = In<T>(a, 0)[y] / static_cast<T>(pool.Divisor(i, j));
      ForWindow(pool, n, i, j, c, [&](int64_t x) { dx[x] += share; });
    });
  });
}

// The mean is over the global image; a rank that holds some of its rows gives its part of the sum.
absl::StatusOr<PreparedKernel> ReferenceGlobalAveragePool(const LocalNode& node) {
  const Shape x = InputShape(node, 0);
  const int64_t pixels = x[1] * x[2];
  const int64_t global_pixels = Input(node, 0).global[1] * Input(node, 0).global[2];
  return PreparedFloating(node.outputs[0].dtype, [=]<typename T>(const KernelArguments& a) {
    for (int64_t n = 0; n < x[0]; ++n) {
      for (int64_t c = 0; c < x[3]; ++c) {
        double sum = 0;
        for (int64_t i = 0; i < pixels; ++i) sum += In<T>(a, 0)[(n * pixels + i) * x[3] + c];
        Out<T>(a, 0)[n * x[3] + c] = static_cast<T>(sum / static_cast<double>(global_pixels));
      }
    }
  });
}

absl::StatusOr<PreparedKernel> ReferenceGlobalAveragePoolGrad(const LocalNode& node) {
  const Shape x = node.outputs[0].shape();
  const int64_t pixels = x[1] * x[2];
  const int64_t global_pixels = node.outputs[0].global[1] * node.outputs[0].global[2];
  return PreparedFloating(node.outputs[0].dtype, [=]<typename T>(const KernelArguments& a) {
    for (int64_t i = 0; i < x[0] * pixels; ++i) {
      for (int64_t c = 0; c < x[3]; ++c) {
        Out<T>(a, 0)[i * x[3] + c] = In<T>(a, 0)[i / pixels * x[3] + c] / static_cast<T>(global_pixels);
      }
    }
  });
}

}  // namespace partita
