// A convolution along lines and its input gradient, which is one of dy with filters that are turned and transposed.
//
// As convolution.cc: filters first, then threads share the lines, in blocks whose transformed pixels stay in the second
// cache. A block of a line more or less gives the same: what a tile gives does not depend on the others.
#include "ops/host/winograd/line_convolution.h"

#include <algorithm>

#include "ops/functors/epilogue.h"
#include "ops/host/kernel/parallel.h"
#include "ops/host/winograd/line_tiles.h"
#include "runtime/base/alignment.h"

namespace partita {
namespace {

class LineConvolution {
 public:
  LineConvolution(const LineTiles& tiles, const LineFilters& filters, bool turned, const LineLoops& loops)
      : tiles_(tiles),
        filters_(filters),
        turned_(turned),
        loops_(loops),
        panels_{tiles.seen().c, tiles.made().c, loops.lanes},
        products_(tiles.form().products()) {
    const int64_t line_bytes = products_ * 4 * panels_.depth * tiles.tiles();
    const int64_t most = std::max(CeilDivide(kFewestTiles, tiles.tiles()), kBlockBytes / line_bytes);
    const int64_t all = tiles.stacks() * tiles.lines();
    shares_ = std::min<int64_t>(MaxThreads(), CeilDivide(all * tiles.tiles(), kFewestTiles));
    // As many for each share, where stacks do not say otherwise.
    blocks_of_stack_ = CeilDivide(tiles.lines(), most);
    if (tiles.stacks() == 1)
      blocks_of_stack_ = std::min(tiles.lines(), CeilDivide(blocks_of_stack_, shares_) * shares_);
    shares_ = std::min(shares_, blocks());
    lines_of_block_ = CeilDivide(tiles.lines(), blocks_of_stack_);
  }

  int64_t workspace_bytes() const { return SharesAt() + shares_ * ShareBytes(); }

  void Run(const float* images, const float* filters, const WinogradEpilogue& epilogue, float* out,
           void* workspace) const {
    char* const memory = static_cast<char*>(workspace);
    float* const outside = reinterpret_cast<float*>(memory);
    float* const points = reinterpret_cast<float*>(memory + OutsideBytes());
    std::fill(outside, outside + panels_.depth, 0.0f);
    TransformFilters(filters, points);
    ParallelFor(shares_, Work(), [&](int64_t share) {
      float* const seen = reinterpret_cast<float*>(memory + SharesAt() + share * ShareBytes());
      float* const sums = seen + products_ * SeenStride();
      // Of points that no piece has.
      std::fill(sums + std::min(products_, kLinePoints) * SumStride(), sums + kLinePoints * SumStride(), 0.0f);
      for (int64_t b = share * blocks() / shares_; b < (share + 1) * blocks() / shares_; ++b) {
        const Block block = At(b);
        TransformLines(block, images, outside, seen);
        for (int64_t column = 0; column < panels_.columns; column += panels_.Width(column)) {
          MakePanel(block, column, seen, points, epilogue, out, sums);
        }
      }
    });
  }

 private:
  static constexpr int64_t kBlockBytes = 384 * 1024;  // of transformed pixels
  static constexpr int64_t kFewestTiles = 24;

  // Lines that are made.
  struct Block {
    int64_t stack, begin, end;
  };
  int64_t blocks() const { return tiles_.stacks() * blocks_of_stack_; }
  Block At(int64_t block) const {
    const int64_t stack = block / blocks_of_stack_, part = block % blocks_of_stack_;
    return {stack, part * tiles_.lines() / blocks_of_stack_, (part + 1) * tiles_.lines() / blocks_of_stack_};
  }

  int64_t LineElements() const { return tiles_.tiles() * panels_.depth; }
  int64_t SeenStride() const { return PointStride((lines_of_block_ + tiles_.across() - 1) * LineElements()); }
  int64_t SumStride() const { return PointStride(lines_of_block_ * tiles_.tiles() * panels_.Width(0)); }
  int64_t FilterStride() const { return PointStride(panels_.elements()); }
  // Of the points of a piece lie those of all taps across side by side.
  float* FiltersAt(float* points, int64_t product, int64_t across) const {
    return points + (product * tiles_.across() + across) * FilterStride();
  }
  int64_t OutsideBytes() const { return AlignUp(panels_.depth * 4); }
  int64_t SharesAt() const { return OutsideBytes() + AlignUp(products_ * tiles_.across() * FilterStride() * 4); }
  int64_t ShareBytes() const { return AlignUp((products_ * SeenStride() + kLinePoints * SumStride()) * 4); }
  // As many elements as a plain loop touches in the time.
  int64_t Work() const { return tiles_.stacks() * tiles_.lines() * LineElements() * panels_.columns; }

  void TransformFilters(const float* filters, float* points) const {
    const LineForm& form = tiles_.form();
    const int64_t across = tiles_.across(), tasks = form.pieces() * across;
    const int64_t steps = turned_ ? panels_.depth : panels_.padded() / loops_.lanes;
    ParallelFor(tasks * steps, tasks * panels_.elements() * 4, [&](int64_t task) {
      const int64_t piece = task / steps / across, a = task / steps % across, step = task % steps;
      const int64_t tap = piece * form.piece_taps();
      float* const to = FiltersAt(points, piece * kLinePoints, a);
      const int64_t stride = across * FilterStride();
      if (turned_) {
        const float* const first = filters + step * filters_.filter_step + (form.taps - 1 - tap) * filters_.tap_step +
                                   (across - 1 - a) * filters_.across_step;
        loops_.transform_row(first, -filters_.tap_step, form.Piece(piece), panels_.depth, panels_.columns, step, to,
                             stride);
      } else {
        const float* const first = filters + tap * filters_.tap_step + a * filters_.across_step;
        loops_.transform_filters(first, filters_.filter_step, filters_.tap_step, form.Piece(piece), panels_.columns,
                                 panels_.depth, step * loops_.lanes, to, stride);
      }
    });
  }

  void TransformLines(const Block& block, const float* images, const float* outside, float* seen) const {
    const LineForm& form = tiles_.form();
    for (int64_t line = block.begin; line < block.end + tiles_.across() - 1; ++line) {
      for (int64_t tile = 0; tile < tiles_.tiles(); ++tile) {
        float* const to = seen + (line - block.begin) * LineElements() + tile * panels_.depth;
        for (int64_t piece = 0; piece < form.pieces(); ++piece) {
          const float* pixels[kLinePoints];
          tiles_.Seen(block.stack, line, tile, piece, images, outside, pixels);
          loops_.transform_pixels(pixels, 0, form.Piece(piece).points, panels_.depth,
                                  to + piece * kLinePoints * SeenStride(), SeenStride());
        }
      }
    }
  }

  // What the lines give in the channels of a panel.
  void MakePanel(const Block& block, int64_t column, const float* seen, float* points, const WinogradEpilogue& epilogue,
                 float* out, float* sums) const {
    const int64_t width = panels_.Width(column), channels = std::min(width, panels_.columns - column);
    for (int64_t product = 0; product < products_; ++product) {
      for (int64_t a = 0; a < tiles_.across(); ++a) {
        loops_.multiply((block.end - block.begin) * tiles_.tiles(), panels_.depth,
                        seen + product * SeenStride() + a * LineElements(),
                        FiltersAt(points, product, a) + column * panels_.depth, width, product >= kLinePoints || a > 0,
                        sums + product % kLinePoints * SumStride());
      }
    }
    const WinogradEpilogue of_panel{epilogue.bias == nullptr ? nullptr : epilogue.bias + column, epilogue.relu};
    const float* from = sums;
    for (int64_t line = block.begin; line < block.end; ++line) {
      for (int64_t tile = 0; tile < tiles_.tiles(); ++tile, from += width) {
        float* pixels[kLinePoints];
        tiles_.Made(block.stack, line, tile, out + column, static_cast<float*>(nullptr), pixels);
        loops_.make_outputs(from, SumStride(), tiles_.form().made, channels, of_panel, pixels);
      }
    }
  }

  LineTiles tiles_;
  LineFilters filters_;
  bool turned_;
  LineLoops loops_;
  WinogradPanels panels_;
  int64_t products_, shares_, blocks_of_stack_, lines_of_block_;
};

}  // namespace

absl::StatusOr<PreparedKernel> PrepareLineConv2d(const LocalNode& node, const LineLoops& loops) {
  RETURN_IF_ERROR(RequireF32(node.outputs[0].dtype));
  const Convolution conv = ForwardConvolution(node);
  RETURN_IF_ERROR(RequireLines(conv, loops));
  const NodeEpilogue epilogue = EpilogueOf(node);
  const bool relu = epilogue.activation_name() == Relu::Name();
  if (epilogue.activation != kNoActivation && !relu) {
    return InvalidArgument("the activation is {}, allowed is relu", epilogue.activation_name());
  }
  const SlidingWindow& window = conv.window;
  const LineTiles tiles(conv.images.n, ImagesOfX(conv), ImagesOfY(conv), window, window.top, window.left);
  const LineConvolution convolution(tiles, LineFilters(window, conv.images.c, tiles.down()), false, loops);
  return Prepared(
      [convolution, relu](const KernelArguments& a) {
        convolution.Run(In<float>(a, 0), In<float>(a, 1), {In<float>(a, 2), relu}, Out<float>(a, 0), a.workspace);
      },
      convolution.workspace_bytes());
}

absl::StatusOr<PreparedKernel> PrepareLineConv2dInputGrad(const LocalNode& node, const LineLoops& loops) {
  RETURN_IF_ERROR(RequireF32(node.outputs[0].dtype));
  const Convolution conv = InputGradConvolution(node);
  RETURN_IF_ERROR(RequireLines(conv, loops));
  const SlidingWindow& window = conv.window;
  const LineTiles tiles(conv.images.n, ImagesOfY(conv), ImagesOfX(conv), window, window.kernel_h - 1 - window.top,
                        window.kernel_w - 1 - window.left);
  const LineConvolution convolution(tiles, LineFilters(window, conv.images.c, tiles.down()), true, loops);
  return Prepared(
      [convolution](const KernelArguments& a) {
        convolution.Run(In<float>(a, 0), In<float>(a, 1), {}, Out<float>(a, 0), a.workspace);
      },
      convolution.workspace_bytes());
}

}  // namespace partita
