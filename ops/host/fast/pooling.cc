// Fast pooling: the loop over channels is innermost and in vectors, threads share rows or samples. Loops run over
// memory, which the caches hold, and not over vectors of lanes.h: gcc 12 takes those apart into halves, and comparisons
// of them into scalars, before it knows what the clone's machine can.
#include <algorithm>
#include <bit>
#include <cstdint>
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

// The part of output (i, j)'s window in the image, and the index of its first element in a sample.
PARTITA_INLINE Patch WindowPatch(const Pooling& pool, int64_t i, int64_t j, int64_t& first) {
  const int64_t row = pool.RowBegin(i), column = pool.ColumnBegin(j);
  const Images& size = pool.images;
  first = (row * size.w + column) * size.c;
  return {pool.RowEnd(i) - row, pool.ColumnEnd(j) - column, size.w * size.c, size.c};
}

// The bits of `value` where the condition holds, else 0. Of a select gcc makes a branch in what a loop in vectors
// leaves over (of 6 channels all), and which pixel is the largest cannot be foretold: that took 2.5 times as long.
PARTITA_INLINE uint32_t Kept(bool condition, float value) {
  return std::bit_cast<uint32_t>(value) & -static_cast<uint32_t>(condition);
}

// y = the larger of x and y, channel by channel.
PARTITA_INLINE void TakeLarger(const float* x, float* y, int64_t channels) {
  PARTITA_INDEPENDENT
  for (int64_t c = 0; c < channels; ++c) {
    const bool larger = Exceeds(x[c], y[c]);
    y[c] = std::bit_cast<float>(Kept(larger, x[c]) | Kept(!larger, y[c]));
  }
}

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

// Channels of one window at a time: what is still to be given of each.
constexpr int64_t kChannelsOfWindow = 512;

// Gives each channel's `dy` to the first of the window's pixels that is `y`.
PARTITA_INLINE void GiveToLargest(const Patch& patch, const float* x, const float* y, const float* dy, float* dx,
                                  int64_t channels) {
  float remaining[kChannelsOfWindow];
  std::copy(dy, dy + channels, remaining);
  for (int64_t i = 0; i < patch.rows; ++i) {
    for (int64_t j = 0; j < patch.columns; ++j) {
      const int64_t at = i * patch.row_stride + j * patch.channels;
      PARTITA_INDEPENDENT
      for (int64_t c = 0; c < channels; ++c) {
        const bool largest = x[at + c] == y[c];
        dx[at + c] += std::bit_cast<float>(Kept(largest, remaining[c]));
        remaining[c] = std::bit_cast<float>(Kept(!largest, remaining[c]));
      }
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
      for (int64_t c = 0; c < size.c; c += kChannelsOfWindow) {
        GiveToLargest(patch, x + first + c, y + at + c, dy + at + c, dx + first + c,
                      std::min(kChannelsOfWindow, size.c - c));
      }
    }
  }
}

PARTITA_INLINE void AddTo(float* sum, const float* x, int64_t channels) {
  PARTITA_INDEPENDENT
  for (int64_t c = 0; c < channels; ++c) sum[c] += x[c];
}

PARTITA_INLINE void AddQuotientTo(float* sum, const float* x, float divisor, int64_t channels) {
  PARTITA_INDEPENDENT
  for (int64_t c = 0; c < channels; ++c) sum[c] += x[c] / divisor;
}

PARTITA_TARGET_CLONES void AveragePoolRow(const Pooling& pool, const float* x, float* y, int64_t row) {
  const int64_t channels = pool.images.c;
  for (int64_t j = 0; j < pool.images.out_w; ++j, y += channels) {
    int64_t first;
    const Patch patch = WindowPatch(pool, row, j, first);
    std::fill(y, y + channels, 0.0f);
    for (int64_t i = 0; i < patch.rows; ++i) {
      const float* pixels = x + first + i * patch.row_stride;
      for (int64_t k = 0; k < patch.columns; ++k) AddTo(y, pixels + k * channels, channels);
    }
    const float factor = 1.0f / static_cast<float>(pool.Divisor(row, j));
    for (int64_t c = 0; c < channels; ++c) y[c] *= factor;
  }
}

PARTITA_TARGET_CLONES void AveragePoolGradRow(const Pooling& pool, const float* dy, float* dx, int64_t row) {
  const Images& size = pool.images;
  const IndexRange rows = pool.RowsThatSee(row);
  const auto window = static_cast<float>(pool.window.kernel_h * pool.window.kernel_w);
  for (int64_t column = 0; column < size.w; ++column, dx += size.c) {
    const IndexRange columns = pool.ColumnsThatSee(column);
    std::fill(dx, dx + size.c, 0.0f);
    for (int64_t i = rows.begin; i < rows.end; ++i) {
      for (int64_t j = columns.begin; j < columns.end; ++j) {
        const float* pixel = dy + (i * size.out_w + j) * size.c;
        if (pool.count_padding) {
          AddTo(dx, pixel, size.c);
        } else {
          AddQuotientTo(dx, pixel, static_cast<float>(pool.Divisor(i, j)), size.c);
        }
      }
    }
    if (!pool.count_padding) continue;
    for (int64_t c = 0; c < size.c; ++c) dx[c] /= window;
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
