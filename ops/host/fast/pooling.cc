// Fast pooling: the loop over channels is innermost and in vectors, threads share rows or samples.
#include <algorithm>
#include <limits>

#include "ops/functors/maximum.h"
#include "ops/host/fast/fast_kernels.h"
#include "ops/host/fast/lanes.h"
#include "ops/host/kernel/parallel.h"
#include "ops/host/kernel/target_clones.h"
#include "ops/values/node_geometry.h"

namespace partita {
namespace {

// A window's part inside of the image: rows and columns relative to `origin`.
struct Patch {
  int64_t rows, columns, row_stride, channels;  // the stride in elements
};

struct MaximumGradBody {
  const float *x, *y, *dy;
  float* dx;
  Patch patch;
  template <typename V>
  PARTITA_INLINE void Run(int64_t c) const {
    V best, remaining;
    const V zero = V{};
    Load(y + c, best);
    Load(dy + c, remaining);
    for (int64_t i = 0; i < patch.rows; ++i) {
      for (int64_t j = 0; j < patch.columns; ++j) {
        const int64_t at = i * patch.row_stride + j * patch.channels + c;
        V value, sum;
        Load(x + at, value);
        Load(dx + at, sum);
        Store(dx + at, sum + (value == best ? remaining : zero));
        remaining = value == best ? zero : remaining;  // the first of equal values takes it all
      }
    }
  }
};

struct SumBody {
  const float* x;
  float* y;
  Patch patch;
  float factor;
  template <typename V>
  PARTITA_INLINE void Run(int64_t c) const {
    V sum = V{};
    for (int64_t i = 0; i < patch.rows; ++i) {
      for (int64_t j = 0; j < patch.columns; ++j) {
        V value;
        Load(x + i * patch.row_stride + j * patch.channels + c, value);
        sum += value;
      }
    }
    Store(y + c, sum * factor);
  }
};

// The part of output (i, j)'s window in the image, and the index of its first element in a sample.
PARTITA_INLINE Patch WindowPatch(const Pooling& pool, int64_t i, int64_t j, int64_t& first) {
  const int64_t row = pool.RowBegin(i), column = pool.ColumnBegin(j);
  const Images& size = pool.images;
  first = (row * size.w + column) * size.c;
  return {pool.RowEnd(i) - row, pool.ColumnEnd(j) - column, size.w * size.c, size.c};
}

// y = the larger of x and y, channel by channel.
PARTITA_INLINE void TakeLarger(const float* x, float* y, int64_t channels) {
  PARTITA_INDEPENDENT
  for (int64_t c = 0; c < channels; ++c) y[c] = Exceeds(x[c], y[c]) ? x[c] : y[c];
}

// Over memory and not with Lanes: gcc 12 takes an ordered comparison of its vectors apart into scalars.
PARTITA_TARGET_CLONES void MaxPoolRow(const Pooling& pool, const float* x, float* y, int64_t row) {
  const int64_t channels = pool.images.c;
  for (int64_t j = 0; j < pool.images.out_w; ++j, y += channels) {
    int64_t first;
    const Patch patch = WindowPatch(pool, row, j, first);
    std::fill(y, y + channels, -std::numeric_limits<float>::infinity());
    for (int64_t i = 0; i < patch.rows; ++i) {
      const float* pixels = x + first + i * patch.row_stride;
      for (int64_t k = 0; k < patch.columns; ++k) TakeLarger(pixels + k * channels, y, channels);
    }
  }
}

PARTITA_TARGET_CLONES void MaxPoolGradSample(const Pooling& pool, const float* x, const float* y, const float* dy,
                                             float* dx) {
  const Images& size = pool.images;
  std::fill(dx, dx + size.h * size.w * size.c, 0.0f);
  for (int64_t i = 0; i < size.out_h; ++i) {
    for (int64_t j = 0; j < size.out_w; ++j) {
      int64_t first;
      const Patch patch = WindowPatch(pool, i, j, first);
      const int64_t at = (i * size.out_w + j) * size.c;
      ForChannels(size.c, MaximumGradBody{x + first, y + at, dy + at, dx + first, patch});
    }
  }
}

PARTITA_TARGET_CLONES void AveragePoolRow(const Pooling& pool, const float* x, float* y, int64_t i) {
  for (int64_t j = 0; j < pool.images.out_w; ++j) {
    int64_t first;
    const Patch patch = WindowPatch(pool, i, j, first);
    const float factor = 1.0f / static_cast<float>(pool.Divisor(i, j));
    ForChannels(pool.images.c, SumBody{x + first, y + j * pool.images.c, patch, factor});
  }
}

// The windows that see a row or column `at`: output indices [begin, end).
struct Covering {
  int64_t begin, end;
};
PARTITA_INLINE Covering CoveringOutputs(int64_t at, int64_t padding, int64_t kernel, int64_t stride, int64_t outputs) {
  const int64_t reach = at + padding;
  const int64_t begin = reach < kernel ? 0 : (reach - kernel) / stride + 1;
  return {begin, std::min(outputs, reach / stride + 1)};
}

struct AverageGradBody {
  const Pooling& pool;
  const float* dy;  // of the sample
  float* dx;
  Covering rows, columns;
  template <typename V>
  PARTITA_INLINE void Run(int64_t c) const {
    const Images& size = pool.images;
    V sum = V{};
    for (int64_t i = rows.begin; i < rows.end; ++i) {
      for (int64_t j = columns.begin; j < columns.end; ++j) {
        V value;
        Load(dy + (i * size.out_w + j) * size.c + c, value);
        sum += pool.count_padding ? value : value / static_cast<float>(pool.Divisor(i, j));
      }
    }
    if (pool.count_padding) sum /= static_cast<float>(pool.window.kernel_h * pool.window.kernel_w);
    Store(dx + c, sum);
  }
};

PARTITA_TARGET_CLONES void AveragePoolGradRow(const Pooling& pool, const float* dy, float* dx, int64_t row) {
  const Images& size = pool.images;
  const SlidingWindow& window = pool.window;
  const Covering rows = CoveringOutputs(row, window.top, window.kernel_h, window.stride_h, size.out_h);
  for (int64_t column = 0; column < size.w; ++column) {
    const Covering columns = CoveringOutputs(column, window.left, window.kernel_w, window.stride_w, size.out_w);
    ForChannels(size.c, AverageGradBody{pool, dy, dx + column * size.c, rows, columns});
  }
}

// The elements that all windows together see.
int64_t WindowElements(const Pooling& pool) {
  const Images& size = pool.images;
  return size.n * size.out_h * size.out_w * size.c * pool.window.kernel_h * pool.window.kernel_w;
}

}  // namespace

absl::StatusOr<PreparedKernel> FastMaxPool(const LocalNode& node) {
  RETURN_IF_ERROR(RequireF32(node.outputs[0].dtype));
  const Pooling pool = MakePooling(Input(node, 0), node.outputs[0], node.attributes);
  return Prepared([pool, work = WindowElements(pool)](const KernelArguments& a) {
    const Images& size = pool.images;
    ParallelFor(size.n * size.out_h, work, [&](int64_t task) {
      MaxPoolRow(pool, In<float>(a, 0) + task / size.out_h * size.h * size.w * size.c,
                 Out<float>(a, 0) + task * size.out_w * size.c, task % size.out_h);
    });
  });
}

absl::StatusOr<PreparedKernel> FastMaxPoolGrad(const LocalNode& node) {
  RETURN_IF_ERROR(RequireF32(node.outputs[0].dtype));
  const Pooling pool = MakePooling(Input(node, 0), Input(node, 1), node.attributes);
  return Prepared([pool, work = WindowElements(pool)](const KernelArguments& a) {
    const Images& size = pool.images;
    const int64_t x = size.h * size.w * size.c, y = size.out_h * size.out_w * size.c;
    ParallelFor(size.n, work, [&](int64_t n) {
      MaxPoolGradSample(pool, In<float>(a, 0) + n * x, In<float>(a, 1) + n * y, In<float>(a, 2) + n * y,
                        Out<float>(a, 0) + n * x);
    });
  });
}

absl::StatusOr<PreparedKernel> FastAveragePool(const LocalNode& node) {
  RETURN_IF_ERROR(RequireF32(node.outputs[0].dtype));
  const Pooling pool = MakePooling(Input(node, 0), node.outputs[0], node.attributes);
  return Prepared([pool, work = WindowElements(pool)](const KernelArguments& a) {
    const Images& size = pool.images;
    ParallelFor(size.n * size.out_h, work, [&](int64_t task) {
      AveragePoolRow(pool, In<float>(a, 0) + task / size.out_h * size.h * size.w * size.c,
                     Out<float>(a, 0) + task * size.out_w * size.c, task % size.out_h);
    });
  });
}

absl::StatusOr<PreparedKernel> FastAveragePoolGrad(const LocalNode& node) {
  RETURN_IF_ERROR(RequireF32(node.outputs[0].dtype));
  const Pooling pool = MakePooling(node.outputs[0], Input(node, 0), node.attributes);
  return Prepared([pool, work = WindowElements(pool)](const KernelArguments& a) {
    const Images& size = pool.images;
    ParallelFor(size.n * size.h, work, [&](int64_t task) {
      AveragePoolGradRow(pool, In<float>(a, 0) + task / size.h * size.out_h * size.out_w * size.c,
                         Out<float>(a, 0) + task * size.w * size.c, task % size.h);
    });
  });
}

}  // namespace partita
