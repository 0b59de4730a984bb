// Images in lines along one axis, lines in tiles of 3 or 4 pixels that are made, and how filters are cut for them.
//
// A tile sees 6 pixels for every piece of the filter, of 7 - `made` taps. The last piece may have fewer taps, and then
// it needs 5 points of the 6. Where filters have taps across the lines too, a line sees those beside it.
#ifndef PARTITA_OPS_HOST_WINOGRAD_LINE_TILES_H_
#define PARTITA_OPS_HOST_WINOGRAD_LINE_TILES_H_

#include <algorithm>
#include <cstdint>

#include "ops/functors/geometry.h"
#include "ops/host/winograd/line_loops.h"
#include "ops/host/winograd/tiles.h"

namespace partita {

// Pixels that a tile makes, and the taps along a line of the filters that make them.
struct LineForm {
  int64_t made, taps;

  int64_t piece_taps() const { return kLinePoints + 1 - made; }
  int64_t pieces() const { return CeilDivide(taps, piece_taps()); }
  LinePiece Piece(int64_t piece) const {
    const int64_t left = taps - piece * piece_taps();
    return {std::min(left, piece_taps()), left < piece_taps() ? kLinePoints - 1 : kLinePoints};
  }
  // Products of matrices for a tile: points of all pieces.
  int64_t products() const { return (pieces() - 1) * kLinePoints + Piece(pieces() - 1).points; }
};

// The form that needs the fewest products for lines of this number of pixels.
inline LineForm BestLineForm(int64_t taps, int64_t length) {
  const LineForm three{3, taps}, four{4, taps};
  const auto products = [&](const LineForm& form) { return CeilDivide(length, form.made) * form.products(); };
  return products(three) < products(four) ? three : four;
}

class LineTiles {
 public:
  // `down`: lines are columns. Pixel (i, j) that is made sees the window from (i - top, j - left) on.
  LineTiles(int64_t samples, const WinogradImages& seen, const WinogradImages& made, const SlidingWindow& window,
            int64_t top, int64_t left)
      : seen_(seen),
        made_(made),
        samples_(samples),
        down_(window.kernel_w < window.kernel_h),
        across_(down_ ? window.kernel_w : window.kernel_h),
        before_(down_ ? top : left),
        before_across_(down_ ? left : top),
        form_(BestLineForm(down_ ? window.kernel_h : window.kernel_w, down_ ? made.h : made.w)),
        tiles_(CeilDivide(down_ ? made.h : made.w, form_.made)) {}

  const WinogradImages& seen() const { return seen_; }
  const WinogradImages& made() const { return made_; }
  const LineForm& form() const { return form_; }
  bool down() const { return down_; }
  int64_t across() const { return across_; }  // taps across the lines
  int64_t tiles() const { return tiles_; }    // of a line
  // Lines that may be in one block: of an image, or of all where none sees those beside it.
  int64_t stacks() const { return across_ == 1 ? 1 : samples_; }
  int64_t lines() const { return across_ == 1 ? samples_ * LinesOfImage() : LinesOfImage(); }

  // The pixels that a tile of a line sees with a piece; `outside` in place of those that are padding. Lines of a stack
  // are counted from the first one that is seen: line i that is made sees those from i to i + across() - 1.
  void Seen(int64_t stack, int64_t line, int64_t tile, int64_t piece, const float* images, const float* outside,
            const float** pixels) const {
    const int64_t first = tile * form_.made + piece * form_.piece_taps() - before_;
    Pixels(seen_, Sample(stack, line), LineOfImage(line) - before_across_, first, kLinePoints, images, outside, pixels);
  }
  // Those that it makes; `outside` in place of those behind the end.
  template <typename T>
  void Made(int64_t stack, int64_t line, int64_t tile, T* images, T* outside, T** pixels) const {
    Pixels(made_, Sample(stack, line), LineOfImage(line), tile * form_.made, form_.made, images, outside, pixels);
  }

 private:
  int64_t LinesOfImage() const { return down_ ? made_.w : made_.h; }
  int64_t Sample(int64_t stack, int64_t line) const { return across_ == 1 ? line / LinesOfImage() : stack; }
  int64_t LineOfImage(int64_t line) const { return across_ == 1 ? line % LinesOfImage() : line; }

  template <typename T>
  void Pixels(const WinogradImages& all, int64_t n, int64_t line, int64_t first, int64_t count, T* images, T* outside,
              T** pixels) const {
    const bool inside = line >= 0 && line < (down_ ? all.w : all.h);
    for (int64_t at = first; at < first + count; ++at) {
      const bool pixel = inside && at >= 0 && at < (down_ ? all.h : all.w);
      *pixels++ = pixel ? images + (down_ ? all.map.At(n, at, line) : all.map.At(n, line, at)) * all.c : outside;
    }
  }

  WinogradImages seen_, made_;
  int64_t samples_;
  bool down_;
  int64_t across_, before_, before_across_;
  LineForm form_;
  int64_t tiles_;
};

// Where the filters of a convolution w[filters, h, w, channels] have their taps, in floats.
struct LineFilters {
  LineFilters(const SlidingWindow& window, int64_t channels, bool down)
      : filter_step(window.kernel_h * window.kernel_w * channels),
        tap_step(down ? window.kernel_w * channels : channels),
        across_step(down ? channels : window.kernel_w * channels) {}

  int64_t filter_step, tap_step, across_step;
};

// Refuses what the loops cannot compute.
inline absl::Status RequireLines(const Convolution& conv, const LineLoops& loops) {
  const SlidingWindow& window = conv.window;
  if (conv.empty()) return InvalidArgument("the block is empty");
  const bool dense = window.stride_h == 1 && window.stride_w == 1 && window.dilation_h == 1 && window.dilation_w == 1;
  if (!dense || conv.groups != 1) return InvalidArgument("strides, dilation or groups are above 1");
  if (std::max(window.kernel_h, window.kernel_w) == 1) return InvalidArgument("the window is 1 x 1");
  if (std::min(conv.images.c, conv.images.out_c) < loops.lanes) {
    return InvalidArgument("{} and {} channels, allowed are {} and more", conv.images.c, conv.images.out_c,
                           loops.lanes);
  }
  return absl::OkStatus();
}

}  // namespace partita

#endif  // PARTITA_OPS_HOST_WINOGRAD_LINE_TILES_H_
