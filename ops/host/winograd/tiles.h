// Images in tiles of 2 x 2 or 4 x 4 pixels that are made, each of two rows and columns more that are seen, and how the
// memory of such a kernel is cut.
#ifndef PARTITA_OPS_HOST_WINOGRAD_TILES_H_
#define PARTITA_OPS_HOST_WINOGRAD_TILES_H_

#include <cstdint>

#include "absl/status/status.h"
#include "ops/functors/geometry.h"
#include "ops/host/winograd/loops.h"
#include "ops/values/node_geometry.h"
#include "runtime/base/status.h"

namespace partita {

// [n,h,w,c] images in larger ones.
struct WinogradImages {
  PixelMap map;
  int64_t h, w, c;
};

class WinogradTiles {
 public:
  // Pixel (i, j) that is made sees the 3 x 3 from (i - top, j - left) on.
  WinogradTiles(int64_t samples, int64_t side, const WinogradImages& seen, const WinogradImages& made, int64_t top,
                int64_t left)
      : side_(side),
        seen_(seen),
        made_(made),
        top_(top),
        left_(left),
        rows_(CeilDivide(made.h, side)),
        columns_(CeilDivide(made.w, side)),
        count_(samples * rows_ * columns_) {}

  const WinogradImages& seen() const { return seen_; }
  const WinogradImages& made() const { return made_; }
  int64_t count() const { return count_; }

  // The pixels that a tile sees; `outside` in place of those that are padding.
  void Seen(int64_t tile, const float* images, const float* outside, const float** pixels) const {
    const int64_t row = tile / columns_ % rows_ * side_ - top_, column = tile % columns_ * side_ - left_;
    Pixels(seen_, tile, row, column, side_ + 2, images, outside, pixels);
  }
  // Those that it makes; `outside` in place of those behind the last row or column.
  template <typename T>
  void Made(int64_t tile, T* images, T* outside, T** pixels) const {
    Pixels(made_, tile, tile / columns_ % rows_ * side_, tile % columns_ * side_, side_, images, outside, pixels);
  }

 private:
  template <typename T>
  void Pixels(const WinogradImages& all, int64_t tile, int64_t row, int64_t column, int64_t side, T* images, T* outside,
              T** pixels) const {
    const int64_t n = tile / (rows_ * columns_);
    for (int64_t i = row; i < row + side; ++i) {
      const bool row_inside = i >= 0 && i < all.h;
      T* const first = images + all.map.At(n, i, 0) * all.c;
      for (int64_t j = column; j < column + side; ++j) {
        *pixels++ = row_inside && j >= 0 && j < all.w ? first + j * all.c : outside;
      }
    }
  }

  int64_t side_;
  WinogradImages seen_, made_;
  int64_t top_, left_, rows_, columns_, count_;
};

inline WinogradImages ImagesOfX(const Convolution& conv) {
  return {conv.x, conv.images.h, conv.images.w, conv.images.c};
}
inline WinogradImages ImagesOfY(const Convolution& conv) {
  return {conv.y, conv.images.out_h, conv.images.out_w, conv.images.out_c};
}

// The distance between points of this number of elements: an odd number of cache lines, so that they do not share a
// cache set.
inline int64_t PointStride(int64_t elements) { return (CeilDivide(elements, 16) | 1) * 16; }

// Refuses what the loops cannot compute, and what they are slower at than others.
inline absl::Status RequireWinograd(const Convolution& conv, const WinogradLoops& loops) {
  const SlidingWindow& window = conv.window;
  if (conv.empty()) return InvalidArgument("the block is empty");
  if (window.kernel_h != 3 || window.kernel_w != 3) {
    return InvalidArgument("the window is {} x {}, allowed is 3 x 3", window.kernel_h, window.kernel_w);
  }
  const bool dense = window.stride_h == 1 && window.stride_w == 1 && window.dilation_h == 1 && window.dilation_w == 1;
  if (!dense || conv.groups != 1) return InvalidArgument("strides, dilation or groups are above 1");
  if (conv.images.c < loops.lanes || conv.images.out_c < loops.lanes) {
    return InvalidArgument("{} and {} channels, allowed are {} and more", conv.images.c, conv.images.out_c,
                           loops.lanes);
  }
  return absl::OkStatus();
}

}  // namespace partita

#endif  // PARTITA_OPS_HOST_WINOGRAD_TILES_H_
