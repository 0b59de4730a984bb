// A convolution and its input gradient, which is one of dy with filters that are turned and transposed.
//
// The filters are transformed first, once for all. Then threads share the tiles, in blocks whose transformed pixels
// stay in the second cache while all panels of filters go by; the sums of a panel become outputs before the next one's
// are made. What a tile gives does not depend on the block it is in.
#include "ops/host/winograd/convolution.h"

#include <algorithm>

#include "ops/functors/epilogue.h"
#include "ops/host/kernel/parallel.h"
#include "ops/host/winograd/tiles.h"
#include "runtime/base/alignment.h"

namespace partita {
namespace {

class WinogradConvolution {
 public:
  WinogradConvolution(const WinogradTiles& tiles, bool turned, const WinogradLoops& loops)
      : tiles_(tiles), turned_(turned), loops_(loops), panels_{tiles.seen().c, tiles.made().c, loops.lanes} {
    const int64_t most = std::max(kFewestTiles, kBlockBytes / (loops_.points() * 4 * panels_.depth));
    shares_ = std::min<int64_t>(MaxThreads(), CeilDivide(tiles.count(), kFewestTiles));
    const int64_t blocks = CeilDivide(CeilDivide(tiles.count(), most), shares_) * shares_;
    tiles_of_block_ = CeilDivide(CeilDivide(tiles.count(), blocks), 4) * 4;
    blocks_ = CeilDivide(tiles.count(), tiles_of_block_);
    shares_ = std::min(shares_, blocks_);
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
      float* const sums = seen + loops_.points() * SeenStride();
      for (int64_t b = share * blocks_ / shares_; b < (share + 1) * blocks_ / shares_; ++b) {
        const int64_t begin = b * tiles_of_block_, end = std::min(tiles_.count(), begin + tiles_of_block_);
        TransformTiles(begin, end, images, outside, seen);
        for (int64_t column = 0; column < panels_.columns; column += panels_.Width(column)) {
          MakePanel(begin, end, column, seen, points, epilogue, out, sums);
        }
      }
    });
  }

 private:
  static constexpr int64_t kBlockBytes = 384 * 1024;  // of transformed pixels
  static constexpr int64_t kFewestTiles = 24;

  int64_t PanelWidth() const { return panels_.Width(0); }  // of the widest
  int64_t SeenStride() const { return PointStride(tiles_of_block_ * panels_.depth); }
  int64_t SumStride() const { return PointStride(tiles_of_block_ * PanelWidth()); }
  int64_t FilterStride() const { return PointStride(panels_.elements()); }
  int64_t OutsideBytes() const { return AlignUp(panels_.depth * 4); }
  int64_t SharesAt() const { return OutsideBytes() + AlignUp(loops_.points() * FilterStride() * 4); }
  int64_t ShareBytes() const { return AlignUp(loops_.points() * (SeenStride() + SumStride()) * 4); }
  // As many elements as a plain loop touches in the time.
  int64_t Work() const { return tiles_.count() * panels_.depth * panels_.columns; }

  void TransformFilters(const float* filters, float* points) const {
    const int64_t work = panels_.depth * panels_.columns * 8;
    if (turned_) {
      ParallelFor(panels_.depth, work, [&](int64_t k) {
        loops_.transform_turned_filter(filters, panels_.depth, panels_.columns, k, points, FilterStride());
      });
    } else {
      ParallelFor(panels_.padded() / loops_.lanes, work, [&](int64_t vector) {
        loops_.transform_filters(filters, panels_.columns, panels_.depth, vector * loops_.lanes, points,
                                 FilterStride());
      });
    }
  }

  void TransformTiles(int64_t begin, int64_t end, const float* images, const float* outside, float* seen) const {
    for (int64_t tile = begin; tile < end; ++tile) {
      const float* pixels[kMostWinogradPoints];
      tiles_.Seen(tile, images, outside, pixels);
      loops_.transform_pixels(pixels, panels_.depth, seen + (tile - begin) * panels_.depth, SeenStride());
    }
  }

  // What the tiles give in the channels of a panel.
  void MakePanel(int64_t begin, int64_t end, int64_t column, const float* seen, const float* points,
                 const WinogradEpilogue& epilogue, float* out, float* sums) const {
    const int64_t width = panels_.Width(column), channels = std::min(width, panels_.columns - column);
    for (int64_t p = 0; p < loops_.points(); ++p) {
      loops_.multiply(end - begin, panels_.depth, seen + p * SeenStride(),
                      points + p * FilterStride() + column * panels_.depth, width, sums + p * SumStride(), width);
    }
    const WinogradEpilogue of_panel{epilogue.bias == nullptr ? nullptr : epilogue.bias + column, epilogue.relu};
    for (int64_t tile = begin; tile < end; ++tile) {
      float* pixels[kMostWinogradPoints];
      tiles_.Made(tile, out + column, static_cast<float*>(nullptr), pixels);
      loops_.make_outputs(sums + (tile - begin) * width, SumStride(), channels, of_panel, pixels);
    }
  }

  WinogradTiles tiles_;
  bool turned_;
  WinogradLoops loops_;
  WinogradPanels panels_;
  int64_t shares_, blocks_, tiles_of_block_;
};

}  // namespace

absl::StatusOr<PreparedKernel> PrepareWinogradConv2d(const LocalNode& node, const WinogradLoops& loops) {
  RETURN_IF_ERROR(RequireF32(node.outputs[0].dtype));
  const Convolution conv = ForwardConvolution(node);
  RETURN_IF_ERROR(RequireWinograd(conv, loops));
  const NodeEpilogue epilogue = EpilogueOf(node);
  const bool relu = epilogue.activation_name() == Relu::Name();
  if (epilogue.activation != kNoActivation && !relu) {
    return InvalidArgument("the activation is {}, allowed is relu", epilogue.activation_name());
  }
  const WinogradTiles tiles(conv.images.n, loops.side, ImagesOfX(conv), ImagesOfY(conv), conv.window.top,
                            conv.window.left);
  const WinogradConvolution convolution(tiles, false, loops);
  return Prepared(
      [convolution, relu](const KernelArguments& a) {
        convolution.Run(In<float>(a, 0), In<float>(a, 1), {In<float>(a, 2), relu}, Out<float>(a, 0), a.workspace);
      },
      convolution.workspace_bytes());
}

absl::StatusOr<PreparedKernel> PrepareWinogradConv2dInputGrad(const LocalNode& node, const WinogradLoops& loops) {
  RETURN_IF_ERROR(RequireF32(node.outputs[0].dtype));
  const Convolution conv = InputGradConvolution(node);
  RETURN_IF_ERROR(RequireWinograd(conv, loops));
  const SlidingWindow& window = conv.window;
  const WinogradTiles tiles(conv.images.n, loops.side, ImagesOfY(conv), ImagesOfX(conv), 2 - window.top,
                            2 - window.left);
  const WinogradConvolution convolution(tiles, true, loops);
  return Prepared(
      [convolution](const KernelArguments& a) {
        convolution.Run(In<float>(a, 0), In<float>(a, 1), {}, Out<float>(a, 0), a.workspace);
      },
      convolution.workspace_bytes());
}

}  // namespace partita
