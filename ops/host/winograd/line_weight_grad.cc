// The weight gradient of a convolution along lines: the adjoint of what the forward one does to its filters.
//
// Lines are cut into parts that the sizes alone decide, each with sums of its own, which are added in their order at
// last. A thread transforms what it multiplies, in bands that stay in its caches: of whole parts, or, where the threads
// do not share these evenly, of one point of a part at a time. So threads meet once, and any number gives the same
// bits.
#include <algorithm>
#include <bit>

#include "ops/host/kernel/parallel.h"
#include "ops/host/winograd/line_convolution.h"
#include "ops/host/winograd/line_tiles.h"
#include "runtime/base/alignment.h"

namespace partita {
namespace {

class LineWeightGrad {
 public:
  LineWeightGrad(const LineTiles& tiles, const LineFilters& filters, const LineLoops& loops)
      : tiles_(tiles),
        filters_(filters),
        loops_(loops),
        channels_(tiles.seen().c),
        made_channels_(tiles.made().c),
        panels_{1, channels_, loops.lanes} {
    const int64_t products = tiles.form().products(), sum_bytes = products * tiles.across() * SumStride() * 4;
    const int64_t parts = std::min(
        {kSumsBytes / sum_bytes, lines() * tiles.tiles() / kFewestTiles, kMostParts, tiles.stacks() * lines()});
    parts_ = static_cast<int64_t>(std::bit_floor(static_cast<uint64_t>(std::max<int64_t>(parts, 1))));
    const int64_t line_bytes = 4 * tiles.tiles() * (products * channels_ + kLinePoints * made_channels_);
    const int64_t most = std::max(kBandBytes, 2 * sum_bytes) / line_bytes;
    lines_of_band_ = std::clamp<int64_t>(most, 1, std::min(tiles.lines(), CeilDivide(lines(), parts_)));
    points_ = parts_ % MaxThreads() == 0 ? kLinePoints : 1;
    shares_ = std::min<int64_t>(MaxThreads(), Tasks());
  }

  int64_t workspace_bytes() const {
    return 4 * (OutsideElements() + parts_ * SumsOfPart() + shares_ * ShareElements());
  }

  void Run(const float* x, const float* dy, float* dw, void* workspace) const {
    float* const outside = static_cast<float*>(workspace);
    float* const sums = outside + OutsideElements();
    float* const shares = sums + parts_ * SumsOfPart();
    std::fill(outside, outside + OutsideElements(), 0.0f);
    ParallelFor(shares_, lines() * tiles_.tiles() * channels_ * made_channels_, [&](int64_t share) {
      float* const own = shares + share * ShareElements();
      for (int64_t task = share * Tasks() / shares_; task < (share + 1) * Tasks() / shares_; ++task) {
        const int64_t part = task * points_ / kLinePoints;
        AddPart(part, task * points_ % kLinePoints, x, dy, outside, own, sums + part * SumsOfPart());
      }
    });
    MakeFilters(sums, dw);
  }

 private:
  static constexpr int64_t kSumsBytes = 4 * 1024 * 1024;  // of all parts
  static constexpr int64_t kBandBytes = 512 * 1024;       // of what is transformed
  static constexpr int64_t kFewestTiles = 64, kMostParts = 16;

  int64_t lines() const { return tiles_.stacks() * tiles_.lines(); }
  int64_t Tasks() const { return parts_ * kLinePoints / points_; }
  int64_t OutsideElements() const { return PointStride(std::max(channels_, made_channels_)); }
  int64_t LineElements() const { return tiles_.tiles() * channels_; }
  // Vectors read beyond the last channel of the last tile.
  int64_t SeenStride() const {
    return PointStride((lines_of_band_ + tiles_.across() - 1) * LineElements() + loops_.lanes);
  }
  int64_t MadeStride() const { return PointStride(lines_of_band_ * tiles_.tiles() * made_channels_); }
  int64_t ShareElements() const { return points_ * (tiles_.form().pieces() * SeenStride() + MadeStride()); }
  int64_t SumStride() const { return PointStride(made_channels_ * panels_.padded()); }
  int64_t SumsOfPart() const { return tiles_.form().products() * tiles_.across() * SumStride(); }
  // Of the points of a piece lie those of all taps across side by side.
  int64_t SumAt(int64_t piece, int64_t point, int64_t across) const {
    return ((piece * kLinePoints + point) * tiles_.across() + across) * SumStride();
  }
  // The end of those of `points_` points, from `point` on, that a piece has.
  int64_t EndOf(int64_t point, int64_t piece) const {
    return std::min(point + points_, tiles_.form().Piece(piece).points);
  }

  // Band by band what a part gives to the sums of its points from `point` on.
  void AddPart(int64_t part, int64_t point, const float* x, const float* dy, const float* outside, float* own,
               float* sums) const {
    float* const made = own + points_ * tiles_.form().pieces() * SeenStride();
    const int64_t first = part * lines() / parts_, last = (part + 1) * lines() / parts_;
    for (int64_t line = first; line < last;) {
      const int64_t stack = line / tiles_.lines(), begin = line % tiles_.lines();
      const int64_t end = std::min({begin + lines_of_band_, tiles_.lines(), begin + last - line});
      TransformSeen(stack, begin, end + tiles_.across() - 1, point, x, outside, own);
      TransformMade(stack, begin, end, point, dy, outside, made);
      AddBand((end - begin) * tiles_.tiles(), point, line > first, own, made, sums);
      line += end - begin;
    }
  }

  void TransformSeen(int64_t stack, int64_t begin, int64_t end, int64_t point, const float* x, const float* outside,
                     float* seen) const {
    for (int64_t piece = 0; piece < tiles_.form().pieces(); ++piece) {
      const int64_t behind = EndOf(point, piece);
      if (behind <= point) continue;
      float* to = seen + piece * points_ * SeenStride();
      for (int64_t line = begin; line < end; ++line) {
        for (int64_t tile = 0; tile < tiles_.tiles(); ++tile, to += channels_) {
          const float* pixels[kLinePoints];
          tiles_.Seen(stack, line, tile, piece, x, outside, pixels);
          loops_.transform_pixels(pixels, point, behind, channels_, to, SeenStride());
        }
      }
      for (int64_t p = point; p < behind; ++p, to += SeenStride()) std::fill(to, to + loops_.lanes, 0.0f);
    }
  }

  void TransformMade(int64_t stack, int64_t begin, int64_t end, int64_t point, const float* dy, const float* outside,
                     float* made) const {
    for (int64_t line = begin; line < end; ++line) {
      for (int64_t tile = 0; tile < tiles_.tiles(); ++tile, made += made_channels_) {
        const float* pixels[kLinePoints];
        tiles_.Made(stack, line, tile, dy, outside, pixels);
        loops_.transform_outputs(pixels, tiles_.form().made, point, point + points_, made_channels_, made,
                                 MadeStride());
      }
    }
  }

  void AddBand(int64_t rows, int64_t point, bool add, const float* seen, const float* made, float* sums) const {
    for (int64_t piece = 0; piece < tiles_.form().pieces(); ++piece) {
      for (int64_t p = point; p < EndOf(point, piece); ++p) {
        const float* const left = made + (p - point) * MadeStride();
        const float* const right = seen + (piece * points_ + p - point) * SeenStride();
        for (int64_t across = 0; across < tiles_.across(); ++across) {
          for (int64_t c = 0; c < channels_; c += panels_.Width(c)) {
            loops_.add_products(rows, left, made_channels_, made_channels_, right + across * LineElements() + c,
                                channels_, panels_.Width(c), add, sums + SumAt(piece, p, across) + c, panels_.padded());
          }
        }
      }
    }
  }

  void MakeFilters(const float* sums, float* dw) const {
    const LineForm& form = tiles_.form();
    ParallelFor(made_channels_, parts_ * SumsOfPart(), [&](int64_t k) {
      for (int64_t piece = 0; piece < form.pieces(); ++piece) {
        for (int64_t across = 0; across < tiles_.across(); ++across) {
          loops_.make_filter(sums + SumAt(piece, 0, across) + k * panels_.padded(), parts_, SumsOfPart(),
                             tiles_.across() * SumStride(), channels_, filters_.tap_step, form.Piece(piece),
                             dw + k * filters_.filter_step + piece * form.piece_taps() * filters_.tap_step +
                                 across * filters_.across_step);
        }
      }
    });
  }

  LineTiles tiles_;
  LineFilters filters_;
  LineLoops loops_;
  int64_t channels_, made_channels_;
  WinogradPanels panels_;
  int64_t parts_, lines_of_band_;
  int64_t points_;  // of a task
  int64_t shares_;
};

}  // namespace

absl::StatusOr<PreparedKernel> PrepareLineConv2dWeightGrad(const LocalNode& node, const LineLoops& loops) {
  RETURN_IF_ERROR(RequireF32(node.outputs[0].dtype));
  const Convolution conv = WeightGradConvolution(node);
  RETURN_IF_ERROR(RequireLines(conv, loops));
  const SlidingWindow& window = conv.window;
  const LineTiles tiles(conv.images.n, ImagesOfX(conv), ImagesOfY(conv), window, window.top, window.left);
  const LineWeightGrad grad(tiles, LineFilters(window, conv.images.c, tiles.down()), loops);
  return Prepared(
      [grad](const KernelArguments& a) { grad.Run(In<float>(a, 0), In<float>(a, 1), Out<float>(a, 0), a.workspace); },
      grad.workspace_bytes());
}

}  // namespace partita
