// Sizes in the words of the loops, for host and device code alike: windows over images, convolutions, poolings, rows of
// channels. This header defines which pixels a window reads and which windows read a pixel, once for all backends.
#ifndef PARTITA_OPS_FUNCTORS_GEOMETRY_H_
#define PARTITA_OPS_FUNCTORS_GEOMETRY_H_

#include <cstdint>

#include "runtime/base/philox.h"

namespace partita {

// The indices [begin, end); none if end <= begin.
struct IndexRange {
  int64_t begin = 0, end = 0;
};

PARTITA_HOST_DEVICE inline int64_t Smaller(int64_t a, int64_t b) { return a < b ? a : b; }
PARTITA_HOST_DEVICE inline int64_t Larger(int64_t a, int64_t b) { return a < b ? b : a; }
PARTITA_HOST_DEVICE inline int64_t CeilDivide(int64_t a, int64_t b) { return (a + b - 1) / b; }  // of a >= 0, b > 0

// The outputs whose windows (without dilation) contain `position` of a dimension that starts with `padding`.
PARTITA_HOST_DEVICE inline IndexRange OutputsThatSee(int64_t position, int64_t padding, int64_t kernel, int64_t stride,
                                                     int64_t outputs) {
  const int64_t last = position + padding;
  const int64_t first = last - kernel + 1;
  return {first <= 0 ? 0 : CeilDivide(first, stride), last < 0 ? 0 : Smaller(outputs, last / stride + 1)};
}

// The output that sees `position` with its tap `tap`; -1: none.
PARTITA_HOST_DEVICE inline int64_t OutputAtTap(int64_t position, int64_t tap, int64_t padding, int64_t stride,
                                               int64_t dilation, int64_t outputs) {
  const int64_t start = position + padding - tap * dilation;
  if (start < 0 || start % stride != 0 || start / stride >= outputs) return -1;
  return start / stride;
}

// A window that moves over the rows and columns of [n,h,w,c] images. Pixels outside of the image are padding.
struct SlidingWindow {
  int64_t kernel_h = 1, kernel_w = 1, stride_h = 1, stride_w = 1, dilation_h = 1, dilation_w = 1;
  int64_t top = 0, bottom = 0, left = 0, right = 0;  // padding
};

// Images x[n,h,w,c] and what windows make of them: y[n,out_h,out_w,out_c].
struct Images {
  int64_t n = 0, h = 0, w = 0, c = 0, out_h = 0, out_w = 0, out_c = 0;
};

// Where the pixels of images lie that may be a part of larger ones: `rows` rows of `columns` pixels for each sample;
// `start` is the first pixel of the image. (All samples are present.)
struct PixelMap {
  int64_t start = 0, rows = 0, columns = 0;

  PARTITA_HOST_DEVICE int64_t At(int64_t n, int64_t row, int64_t column) const {
    return start + (n * rows + row) * columns + column;
  }
};

struct Convolution {
  Images images;
  SlidingWindow window;
  int64_t groups = 1;
  PixelMap x, y;

  PARTITA_HOST_DEVICE int64_t group_c() const { return images.c / groups; }          // input channels of a group
  PARTITA_HOST_DEVICE int64_t group_out_c() const { return images.out_c / groups; }  // output channels of a group
  PARTITA_HOST_DEVICE int64_t weights() const { return images.out_c * window.kernel_h * window.kernel_w * group_c(); }
  PARTITA_HOST_DEVICE bool empty() const {
    return images.n == 0 || images.c == 0 || images.out_c == 0 || images.out_h == 0 || images.out_w == 0;
  }

  // The index of the pixel of x (in pixels) that output pixel (i, j) of sample `n` sees at place (p, q) of the window,
  // or -1.
  PARTITA_HOST_DEVICE int64_t Pixel(int64_t n, int64_t i, int64_t j, int64_t p, int64_t q) const {
    const int64_t row = i * window.stride_h + p * window.dilation_h - window.top;
    const int64_t column = j * window.stride_w + q * window.dilation_w - window.left;
    if (row < 0 || row >= images.h || column < 0 || column >= images.w) return -1;
    return x.At(n, row, column);
  }
};

struct Pooling {
  Images images;
  SlidingWindow window;
  bool count_padding = true;  // average pooling divides by the whole window

  // The part [begin, end) of the window of output row i (column i) that lies in the image.
  PARTITA_HOST_DEVICE int64_t RowBegin(int64_t i) const { return Larger(0, i * window.stride_h - window.top); }
  PARTITA_HOST_DEVICE int64_t RowEnd(int64_t i) const {
    return Smaller(images.h, i * window.stride_h - window.top + window.kernel_h);
  }
  PARTITA_HOST_DEVICE int64_t ColumnBegin(int64_t i) const { return Larger(0, i * window.stride_w - window.left); }
  PARTITA_HOST_DEVICE int64_t ColumnEnd(int64_t i) const {
    return Smaller(images.w, i * window.stride_w - window.left + window.kernel_w);
  }

  // What an average over output pixel (i, j) divides by; at least 1, for windows that see padding alone.
  PARTITA_HOST_DEVICE int64_t Divisor(int64_t i, int64_t j) const {
    if (count_padding) return window.kernel_h * window.kernel_w;
    return Larger(1, Larger(0, RowEnd(i) - RowBegin(i)) * Larger(0, ColumnEnd(j) - ColumnBegin(j)));
  }

  // The output rows (columns) whose windows see input row (column) `position`.
  PARTITA_HOST_DEVICE IndexRange RowsThatSee(int64_t position) const {
    return OutputsThatSee(position, window.top, window.kernel_h, window.stride_h, images.out_h);
  }
  PARTITA_HOST_DEVICE IndexRange ColumnsThatSee(int64_t position) const {
    return OutputsThatSee(position, window.left, window.kernel_w, window.stride_w, images.out_w);
  }
};

// A rank's block of a tensor, row-major within the global tensor.
struct GlobalBlock {
  static constexpr int kMaxRank = 8;

  int rank = 0;
  int64_t size[kMaxRank] = {}, offset[kMaxRank] = {}, global[kMaxRank] = {};
};

// Of a rank's block: the global index along one dimension is first + i / behind % size.
struct DimensionPlaces {
  int64_t first = 0, size = 1, behind = 1;
};

// A tensor as rows of channels: the last dimension runs fastest.
struct ChannelRows {
  int64_t rows = 0, channels = 0;
  PARTITA_HOST_DEVICE int64_t elements() const { return rows * channels; }
};

// Which matrices of two operands make each product of a batch: by the dimensions of the results before their last two,
// as far as they cannot be merged. A matrix may serve several products.
struct BatchPlaces {
  static constexpr int kMostDimensions = 3;

  // Steps are matrices from one product to the next, of the operands and of the results; 0: it is the same one.
  struct Dimension {
    int64_t size = 1, x_step = 0, y_step = 0, z_step = 1;
  };
  struct Place {
    int64_t x = 0, y = 0;
  };

  int rank = 0;
  Dimension dimensions[kMostDimensions];

  PARTITA_HOST_DEVICE int64_t count() const {
    int64_t count = 1;
    for (int d = 0; d < rank; ++d) count *= dimensions[d].size;
    return count;
  }
  PARTITA_HOST_DEVICE Place At(int64_t product) const {
    Place place;
    for (int d = rank - 1; d >= 0; --d) {
      const Dimension& dimension = dimensions[d];
      const int64_t i = product % dimension.size;
      product /= dimension.size;
      place.x += i * dimension.x_step;
      place.y += i * dimension.y_step;
    }
    return place;
  }
};

// The samples of [n,...,c] in the groups that batch statistics are taken over.
struct SampleGroups {
  int64_t groups = 1;          // local ones
  int64_t rows_per_group = 0;  // rows of channels in a group, as this rank holds them
  int64_t channels = 0;
  double count = 0;  // elements of a group and channel over all ranks

  PARTITA_HOST_DEVICE int64_t rows() const { return groups * rows_per_group; }
};

}  // namespace partita

#endif  // PARTITA_OPS_FUNCTORS_GEOMETRY_H_
