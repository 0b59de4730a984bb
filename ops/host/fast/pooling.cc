// Fast pooling: the loop over channels is innermost and in vectors, threads share rows or samples. Loops run over
// memory, which the caches hold, and not over vectors of lanes.h: gcc 12 takes those apart into halves, and comparisons
// of them into scalars, before it knows what the clone's machine can.
#include <algorithm>
#include <bit>
#include <cstdint>
#include <limits>

#include "ops/functors/pairs.h"
#include "ops/host/fast/fast_kernels.h"
#include "ops/host/fast/lanes.h"
#include "ops/host/kernel/parallel.h"
#include "ops/host/kernel/target_clones.h"
#include "ops/values/columns.h"
#include "ops/values/node_geometry.h"

namespace partita {
namespace {

// The part of a window in the image, in pixels: its first one in a sample, and how far its rows are apart.
struct Patch {
  int64_t rows, columns, first, row_stride;
};

// Of output (i, j).
PARTITA_INLINE Patch WindowPatch(const Pooling& pool, int64_t i, int64_t j) {
  const int64_t row = pool.RowBegin(i), column = pool.ColumnBegin(j), w = pool.images.w;
  return {pool.RowEnd(i) - row, pool.ColumnEnd(j) - column, row * w + column, w};
}

// Images whose pixels are `pitch` elements apart: their channels, or those of the wider rows that they are columns of.
template <typename T>
struct Pixels {
  T* at(int64_t pixel) const { return first + pixel * pitch; }
  T* first;
  int64_t pitch;
};

// A node's operands as such.
struct Places {
  explicit Places(const LocalNode& node) {
    for (size_t i = 0; i < node.inputs.size(); ++i) in[i] = Pitch(node, i);
    out = Pitch(node, node.inputs.size());
  }
  static int64_t Pitch(const LocalNode& node, size_t operand) {
    const int64_t pitch = PitchOf(node, operand);
    return pitch > 0 ? pitch : node.operand(operand)->shape().back();
  }
  Pixels<const float> In(const KernelArguments& a, size_t i, int64_t pixel) const {
    return {Pixels<const float>{partita::In<float>(a, i), in[i]}.at(pixel), in[i]};
  }
  Pixels<float> Out(const KernelArguments& a, int64_t pixel) const {
    return {Pixels<float>{partita::Out<float>(a, 0), out}.at(pixel), out};
  }
  int64_t in[3] = {}, out;
};

// The bits of `value` where the condition holds, else 0. Of a select gcc makes a branch in what a loop in vectors
// leaves over (of 6 channels all), and which pixel is the largest cannot be foretold: that took 2.5 times as long.
PARTITA_INLINE uint32_t Kept(bool condition, float value) {
  return std::bit_cast<uint32_t>(value) & -static_cast<uint32_t>(condition);
}

// The larger of both; x is met after y.
PARTITA_INLINE float LargerOf(float x, float y) {
  const bool larger = Exceeds(x, y);
  return std::bit_cast<float>(Kept(larger, x) | Kept(!larger, y));
}

// y = the larger of x and y, channel by channel.
PARTITA_INLINE void TakeLarger(const float* x, float* y, int64_t channels) {
  PARTITA_INDEPENDENT
  for (int64_t c = 0; c < channels; ++c) y[c] = LargerOf(x[c], y[c]);
}

// Whole windows of 2 x 2 pixels are frequent: a loop that sees all four keeps in registers what the
// others read again from pixel to pixel, and is begun once, which counts where channels are few.
PARTITA_INLINE bool IsSquareOfFour(const Patch& patch) { return patch.rows == 2 && patch.columns == 2; }

// y = the largest of the four pixels that begin at x.
PARTITA_INLINE void TakeLargestOfFour(const float* x, int64_t right, int64_t below, float* y, int64_t channels) {
  PARTITA_INDEPENDENT
  for (int64_t c = 0; c < channels; ++c) {
    const float above = LargerOf(x[right + c], x[c]);
    y[c] = LargerOf(x[below + right + c], LargerOf(x[below + c], above));
  }
}

// Of the images of x, row `row` of those of y.
PARTITA_TARGET_CLONES void MaxPoolRow(const Pooling& pool, Pixels<const float> x, Pixels<float> y, int64_t row) {
  const int64_t channels = pool.images.c;
  for (int64_t j = 0; j < pool.images.out_w; ++j) {
    const Patch patch = WindowPatch(pool, row, j);
    float* const largest = y.at(j);
    if (IsSquareOfFour(patch)) {
      TakeLargestOfFour(x.at(patch.first), x.pitch, patch.row_stride * x.pitch, largest, channels);
      continue;
    }
    std::fill(largest, largest + channels, -std::numeric_limits<float>::infinity());
    for (int64_t i = 0; i < patch.rows; ++i) {
      const float* pixel = x.at(patch.first + i * patch.row_stride);
      for (int64_t k = 0; k < patch.columns; ++k, pixel += x.pitch) TakeLarger(pixel, largest, channels);
    }
  }
}

// Channels of one window at a time: what is still to be given of each.
constexpr int64_t kChannelsOfWindow = 512;

// Gives each channel's `dy`, from `from` on, to the first of the window's pixels that is `y`.
PARTITA_INLINE void GiveToLargest(const Patch& patch, Pixels<const float> x, const float* y, const float* dy,
                                  Pixels<float> dx, int64_t from, int64_t channels) {
  float remaining[kChannelsOfWindow];
  std::copy(dy, dy + channels, remaining);
  for (int64_t i = 0; i < patch.rows; ++i) {
    const int64_t pixel = patch.first + i * patch.row_stride;
    const float* seen = x.at(pixel) + from;
    float* given = dx.at(pixel) + from;
    for (int64_t j = 0; j < patch.columns; ++j, seen += x.pitch, given += dx.pitch) {
      PARTITA_INDEPENDENT
      for (int64_t c = 0; c < channels; ++c) {
        const bool largest = seen[c] == y[c];
        given[c] += std::bit_cast<float>(Kept(largest, remaining[c]));
        remaining[c] = std::bit_cast<float>(Kept(!largest, remaining[c]));
      }
    }
  }
}

// Whether each pixel is in one window, whole and of 2 x 2.
bool IsCutIntoSquaresOfFour(const Pooling& pool) {
  const Images& size = pool.images;
  const SlidingWindow& window = pool.window;
  return window.kernel_h == 2 && window.kernel_w == 2 && window.stride_h == 2 && window.stride_w == 2 &&
         window.top == 0 && window.left == 0 && size.h == 2 * size.out_h && size.w == 2 * size.out_w;
}

// As GiveToLargest, to the four pixels of a window that are in no other: they are written, not added to. A zero is
// added to them still, for the bits of the sums that others are.
PARTITA_TARGET_CLONES void MaxPoolGradRowOfSquares(const Pooling& pool, Pixels<const float> x, Pixels<const float> y,
                                                   Pixels<const float> dy, Pixels<float> dx, int64_t row) {
  const Images& size = pool.images;
  const int64_t seen_right = x.pitch, seen_below = size.w * x.pitch;
  const int64_t right = dx.pitch, below = size.w * dx.pitch;
  for (int64_t j = 0; j < size.out_w; ++j) {
    const int64_t pixel = 2 * (row * size.w + j), window = row * size.out_w + j;
    const float* const seen = x.at(pixel);
    const float* const largest = y.at(window);
    const float* const cotangent = dy.at(window);
    float* const given = dx.at(pixel);
    PARTITA_INDEPENDENT
    for (int64_t c = 0; c < size.c; ++c) {
      const float maximum = largest[c];
      float remaining = cotangent[c];
      const auto give = [&](float value) __attribute__((always_inline)) {
        const bool is_largest = value == maximum;
        const float part = std::bit_cast<float>(Kept(is_largest, remaining));
        remaining = std::bit_cast<float>(Kept(!is_largest, remaining));
        return 0.0f + part;
      };
      given[c] = give(seen[c]);
      given[right + c] = give(seen[seen_right + c]);
      given[below + c] = give(seen[seen_below + c]);
      given[below + right + c] = give(seen[seen_below + seen_right + c]);
    }
  }
}

PARTITA_INLINE void FillWithZeros(Pixels<float> images, int64_t pixels, int64_t channels) {
  if (images.pitch == channels) {
    std::fill(images.first, images.at(pixels), 0.0f);
  } else {
    for (int64_t i = 0; i < pixels; ++i) std::fill(images.at(i), images.at(i) + channels, 0.0f);
  }
}

PARTITA_TARGET_CLONES void MaxPoolGradSample(const Pooling& pool, Pixels<const float> x, Pixels<const float> y,
                                             Pixels<const float> dy, Pixels<float> dx) {
  const Images& size = pool.images;
  FillWithZeros(dx, size.h * size.w, size.c);
  for (int64_t i = 0; i < size.out_h; ++i) {
    for (int64_t j = 0; j < size.out_w; ++j) {
      const Patch patch = WindowPatch(pool, i, j);
      const int64_t pixel = i * size.out_w + j;
      for (int64_t c = 0; c < size.c; c += kChannelsOfWindow) {
        GiveToLargest(patch, x, y.at(pixel) + c, dy.at(pixel) + c, dx, c, std::min(kChannelsOfWindow, size.c - c));
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

PARTITA_TARGET_CLONES void AveragePoolRow(const Pooling& pool, Pixels<const float> x, Pixels<float> y, int64_t row) {
  const int64_t channels = pool.images.c;
  for (int64_t j = 0; j < pool.images.out_w; ++j) {
    const Patch patch = WindowPatch(pool, row, j);
    float* const mean = y.at(j);
    std::fill(mean, mean + channels, 0.0f);
    for (int64_t i = 0; i < patch.rows; ++i) {
      const float* pixel = x.at(patch.first + i * patch.row_stride);
      for (int64_t k = 0; k < patch.columns; ++k, pixel += x.pitch) AddTo(mean, pixel, channels);
    }
    const float factor = 1.0f / static_cast<float>(pool.Divisor(row, j));
    for (int64_t c = 0; c < channels; ++c) mean[c] *= factor;
  }
}

PARTITA_TARGET_CLONES void AveragePoolGradRow(const Pooling& pool, Pixels<const float> dy, Pixels<float> out,
                                              int64_t row) {
  const Images& size = pool.images;
  const IndexRange rows = pool.RowsThatSee(row);
  const auto window = static_cast<float>(pool.window.kernel_h * pool.window.kernel_w);
  for (int64_t column = 0; column < size.w; ++column) {
    float* const dx = out.at(column);
    const IndexRange columns = pool.ColumnsThatSee(column);
    std::fill(dx, dx + size.c, 0.0f);
    for (int64_t i = rows.begin; i < rows.end; ++i) {
      for (int64_t j = columns.begin; j < columns.end; ++j) {
        const float* const pixel = dy.at(i * size.out_w + j);
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
  return Prepared([pool, places = Places(node), work = WindowElements(pool)](const KernelArguments& a) {
    const Images& size = pool.images;
    ParallelFor(size.n * size.out_h, work, [&](int64_t task) {
      MaxPoolRow(pool, places.In(a, 0, task / size.out_h * size.h * size.w), places.Out(a, task * size.out_w),
                 task % size.out_h);
    });
  });
}

absl::StatusOr<PreparedKernel> FastMaxPoolGrad(const LocalNode& node) {
  RETURN_IF_ERROR(RequireF32(node.outputs[0].dtype));
  const Pooling pool = MakePooling(Input(node, 0), Input(node, 1), node.attributes);
  return Prepared([pool, places = Places(node), work = WindowElements(pool)](const KernelArguments& a) {
    const Images& size = pool.images;
    const int64_t x = size.h * size.w, y = size.out_h * size.out_w;
    if (IsCutIntoSquaresOfFour(pool)) {
      return ParallelFor(size.n * size.out_h, work, [&](int64_t task) {
        const int64_t n = task / size.out_h;
        MaxPoolGradRowOfSquares(pool, places.In(a, 0, n * x), places.In(a, 1, n * y), places.In(a, 2, n * y),
                                places.Out(a, n * x), task % size.out_h);
      });
    }
    ParallelFor(size.n, work, [&](int64_t n) {
      MaxPoolGradSample(pool, places.In(a, 0, n * x), places.In(a, 1, n * y), places.In(a, 2, n * y),
                        places.Out(a, n * x));
    });
  });
}

absl::StatusOr<PreparedKernel> FastAveragePool(const LocalNode& node) {
  RETURN_IF_ERROR(RequireF32(node.outputs[0].dtype));
  const Pooling pool = MakePooling(Input(node, 0), node.outputs[0], node.attributes);
  return Prepared([pool, places = Places(node), work = WindowElements(pool)](const KernelArguments& a) {
    const Images& size = pool.images;
    ParallelFor(size.n * size.out_h, work, [&](int64_t task) {
      AveragePoolRow(pool, places.In(a, 0, task / size.out_h * size.h * size.w), places.Out(a, task * size.out_w),
                     task % size.out_h);
    });
  });
}

absl::StatusOr<PreparedKernel> FastAveragePoolGrad(const LocalNode& node) {
  RETURN_IF_ERROR(RequireF32(node.outputs[0].dtype));
  const Pooling pool = MakePooling(node.outputs[0], Input(node, 0), node.attributes);
  return Prepared([pool, places = Places(node), work = WindowElements(pool)](const KernelArguments& a) {
    const Images& size = pool.images;
    ParallelFor(size.n * size.h, work, [&](int64_t task) {
      AveragePoolGradRow(pool, places.In(a, 0, task / size.h * size.out_h * size.out_w), places.Out(a, task * size.w),
                         task % size.h);
    });
  });
}

}  // namespace partita
