// A convolution's weight gradient: the adjoint of what the forward one does to its filters.
//
// Tiles go by in bands that the sizes alone decide. Of a band all threads transform what its tiles see and the
// gradients of what they make, and then share points and channels, so that each sum is one thread's, in the order of
// bands.
#include <algorithm>

#include "ops/host/kernel/parallel.h"
#include "ops/host/winograd/convolution.h"
#include "ops/host/winograd/tiles.h"
#include "runtime/base/alignment.h"

namespace partita {
namespace {

class WinogradWeightGrad {
 public:
  WinogradWeightGrad(const WinogradTiles& tiles, const WinogradLoops& loops)
      : tiles_(tiles), loops_(loops), channels_(tiles.seen().c), filters_(tiles.made().c) {
    const WinogradPanels panels{1, channels_, loops.lanes};
    width_ = panels.padded();
    const int64_t tile_bytes = kWinogradPoints * 4 * (channels_ + filters_);
    const int64_t most = std::max(kFewestTiles, kBandBytes / tile_bytes);
    bands_ = CeilDivide(tiles.count(), most);
    tiles_of_band_ = CeilDivide(tiles.count(), bands_);
  }

  int64_t workspace_bytes() const {
    return 4 * (std::max(channels_, filters_) + kWinogradPoints * (SumStride() + SeenStride() + MadeStride()));
  }

  void Run(const float* x, const float* dy, float* dw, void* workspace) const {
    float* const sums = static_cast<float*>(workspace);
    float* const seen = sums + kWinogradPoints * SumStride();
    float* const made = seen + kWinogradPoints * SeenStride();
    float* const outside = made + kWinogradPoints * MadeStride();
    std::fill(outside, outside + std::max(channels_, filters_), 0.0f);
    for (int64_t begin = 0; begin < tiles_.count(); begin += tiles_of_band_) {
      const int64_t end = std::min(tiles_.count(), begin + tiles_of_band_);
      TransformBand(begin, end, x, dy, outside, seen, made);
      AddBand(end - begin, begin > 0, seen, made, sums);
    }
    ParallelFor(filters_, filters_ * channels_ * 8,
                [&](int64_t k) { loops_.make_filters(sums, SumStride(), width_, channels_, k, k + 1, dw); });
  }

 private:
  static constexpr int64_t kBandBytes = 1024 * 1024;  // of what is transformed
  static constexpr int64_t kFewestTiles = 64, kTilesOfTask = 16, kFiltersOfTask = 96;

  // Vectors read beyond the last channel of the last tile.
  int64_t SeenStride() const { return PointStride(tiles_of_band_ * channels_ + loops_.lanes); }
  int64_t MadeStride() const { return PointStride(tiles_of_band_ * filters_); }
  int64_t SumStride() const { return PointStride(filters_ * width_); }

  void TransformBand(int64_t begin, int64_t end, const float* x, const float* dy, const float* outside, float* seen,
                     float* made) const {
    for (int64_t p = 0; p < kWinogradPoints; ++p) {
      float* const behind = seen + p * SeenStride() + (end - begin) * channels_;
      std::fill(behind, behind + loops_.lanes, 0.0f);
    }
    const int64_t work = (end - begin) * (channels_ + filters_) * 4;
    ParallelFor(CeilDivide(end - begin, kTilesOfTask), work, [&](int64_t task) {
      const int64_t first = begin + task * kTilesOfTask;
      for (int64_t tile = first; tile < std::min(end, first + kTilesOfTask); ++tile) {
        const float* pixels[16];
        tiles_.Seen(tile, x, outside, pixels);
        loops_.transform_pixels(pixels, channels_, seen + (tile - begin) * channels_, SeenStride());
        tiles_.Made(tile, dy, outside, pixels);
        loops_.transform_outputs(pixels, filters_, made + (tile - begin) * filters_, MadeStride());
      }
    });
  }

  void AddBand(int64_t tiles, bool add, const float* seen, const float* made, float* sums) const {
    const WinogradPanels panels{1, channels_, loops_.lanes};
    const int64_t parts = CeilDivide(filters_, kFiltersOfTask);
    ParallelFor(kWinogradPoints * parts, tiles * channels_ * filters_, [&](int64_t task) {
      const int64_t p = task / parts, k = task % parts * kFiltersOfTask;
      const int64_t filters = std::min(kFiltersOfTask, filters_ - k);
      for (int64_t c = 0; c < channels_; c += panels.Width(c)) {
        loops_.add_products(tiles, made + p * MadeStride() + k, filters_, filters, seen + p * SeenStride() + c,
                            channels_, panels.Width(c), add, sums + p * SumStride() + k * width_ + c, width_);
      }
    });
  }

  WinogradTiles tiles_;
  WinogradLoops loops_;
  int64_t channels_, filters_, width_;
  int64_t bands_, tiles_of_band_;
};

}  // namespace

absl::StatusOr<PreparedKernel> PrepareWinogradConv2dWeightGrad(const LocalNode& node, const WinogradLoops& loops) {
  RETURN_IF_ERROR(RequireF32(node.outputs[0].dtype));
  const Convolution conv = WeightGradConvolution(node);
  RETURN_IF_ERROR(RequireWinograd(conv, loops));
  const WinogradTiles tiles(conv.images.n, ImagesOfX(conv), ImagesOfY(conv), conv.window.top, conv.window.left);
  const WinogradWeightGrad grad(tiles, loops);
  return Prepared(
      [grad](const KernelArguments& a) { grad.Run(In<float>(a, 0), In<float>(a, 1), Out<float>(a, 0), a.workspace); },
      grad.workspace_bytes());
}

}  // namespace partita
