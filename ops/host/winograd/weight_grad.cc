// A convolution's weight gradient: the adjoint of what the forward one does to its filters.
//
// Where tiles are many and filters few, tiles are cut into parts, by the sizes alone, each with sums of its own, which
// the making of the filters adds up: a thread transforms some tiles of its part, which stay in its second cache, and
// adds their products. Otherwise such sums were too large: there all threads transform a band of tiles, and then share
// points and filters.
#include <algorithm>
#include <bit>

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
    width_ = Panels().padded();
    // What all sums hold is at most half of what is transformed.
    const int64_t most = tiles.count() * (channels_ + filters_) / (2 * channels_ * filters_);
    parts_ = static_cast<int64_t>(std::bit_floor(static_cast<uint64_t>(std::clamp<int64_t>(most, 1, kMostParts))));
    shares_ = std::min<int64_t>(MaxThreads(), parts_);
    if (parts_ > 1) {
      tiles_of_band_ = kTilesOfBlock;
    } else {
      const int64_t tile_bytes = loops.points() * 4 * (channels_ + filters_);
      const int64_t bands = CeilDivide(tiles.count(), std::max(kFewestTiles, kBandBytes / tile_bytes));
      tiles_of_band_ = CeilDivide(tiles.count(), bands);
    }
  }

  int64_t workspace_bytes() const { return BandsAt() + shares_ * BandBytes(); }

  void Run(const float* x, const float* dy, float* dw, void* workspace) const {
    float* const outside = static_cast<float*>(workspace);
    float* const sums = reinterpret_cast<float*>(static_cast<char*>(workspace) + OutsideBytes());
    std::fill(outside, outside + std::max(channels_, filters_), 0.0f);
    const auto band_of = [&](int64_t share) {
      return Band{x, dy, outside,
                  reinterpret_cast<float*>(static_cast<char*>(workspace) + BandsAt() + share * BandBytes())};
    };
    if (parts_ > 1) {
      ParallelFor(shares_, Work(tiles_.count()), [&](int64_t share) {
        const Band band = band_of(share);
        for (int64_t p = share * parts_ / shares_; p < (share + 1) * parts_ / shares_; ++p) {
          AddPart(p * tiles_.count() / parts_, (p + 1) * tiles_.count() / parts_, band, sums + p * PartStride());
        }
      });
    } else {
      AddBands(band_of(0), sums);
    }
    const WinogradSums all{sums, parts_, PartStride(), SumStride(), width_};
    ParallelFor(filters_, filters_ * channels_ * 8, [&](int64_t k) { loops_.make_filter(all, channels_, k, dw); });
  }

 private:
  // What of which a band of tiles is made, and where.
  struct Band {
    const float *x, *dy, *outside;
    float* seen;
  };

  static constexpr int64_t kMostParts = 8, kTilesOfBlock = 32;
  static constexpr int64_t kBandBytes = 1024 * 1024;  // of what is transformed
  static constexpr int64_t kFewestTiles = 64, kTilesOfTask = 16, kFiltersOfTask = 96;

  WinogradPanels Panels() const { return {1, channels_, loops_.lanes}; }
  // Vectors read beyond the last channel of the last tile.
  int64_t SeenStride() const { return PointStride(tiles_of_band_ * channels_ + loops_.lanes); }
  int64_t MadeStride() const { return PointStride(tiles_of_band_ * filters_); }
  int64_t SumStride() const { return PointStride(filters_ * width_); }
  int64_t PartStride() const { return loops_.points() * SumStride(); }
  int64_t OutsideBytes() const { return AlignUp(std::max(channels_, filters_) * 4); }
  int64_t BandsAt() const { return OutsideBytes() + AlignUp(parts_ * PartStride() * 4); }
  int64_t BandBytes() const { return AlignUp(loops_.points() * (SeenStride() + MadeStride()) * 4); }
  // As many elements as a plain loop touches in the time.
  int64_t Work(int64_t tiles) const { return tiles * channels_ * filters_; }
  float* Made(const Band& band) const { return band.seen + loops_.points() * SeenStride(); }

  // Those from `first` on of a band that starts at `begin`.
  void Transform(int64_t begin, int64_t first, int64_t end, const Band& band) const {
    for (int64_t tile = first; tile < end; ++tile) {
      const float* pixels[kMostWinogradPoints];
      tiles_.Seen(tile, band.x, band.outside, pixels);
      loops_.transform_pixels(pixels, channels_, band.seen + (tile - begin) * channels_, SeenStride());
      tiles_.Made(tile, band.dy, band.outside, pixels);
      loops_.transform_outputs(pixels, filters_, Made(band) + (tile - begin) * filters_, MadeStride());
    }
  }

  void FillBehind(int64_t tiles, const Band& band) const {
    for (int64_t p = 0; p < loops_.points(); ++p) {
      float* const behind = band.seen + p * SeenStride() + tiles * channels_;
      std::fill(behind, behind + loops_.lanes, 0.0f);
    }
  }

  // The products of so many tiles, of one point and some filters.
  void Add(int64_t tiles, int64_t p, int64_t k, int64_t filters, bool add, const Band& band, float* sums) const {
    for (int64_t c = 0; c < channels_; c += Panels().Width(c)) {
      loops_.add_products(tiles, Made(band) + p * MadeStride() + k, filters_, filters, band.seen + p * SeenStride() + c,
                          channels_, Panels().Width(c), add, sums + p * SumStride() + k * width_ + c, width_);
    }
  }

  void AddPart(int64_t begin, int64_t end, const Band& band, float* sums) const {
    for (int64_t first = begin; first < end; first += tiles_of_band_) {
      const int64_t tiles = std::min(tiles_of_band_, end - first);
      FillBehind(tiles, band);
      Transform(first, first, first + tiles, band);
      for (int64_t p = 0; p < loops_.points(); ++p) Add(tiles, p, 0, filters_, first > begin, band, sums);
    }
  }

  void AddBands(const Band& band, float* sums) const {
    const int64_t parts = CeilDivide(filters_, kFiltersOfTask);
    for (int64_t begin = 0; begin < tiles_.count(); begin += tiles_of_band_) {
      const int64_t tiles = std::min(tiles_of_band_, tiles_.count() - begin);
      FillBehind(tiles, band);
      ParallelFor(CeilDivide(tiles, kTilesOfTask), tiles * (channels_ + filters_) * 4, [&](int64_t task) {
        const int64_t first = begin + task * kTilesOfTask;
        Transform(begin, first, std::min(begin + tiles, first + kTilesOfTask), band);
      });
      ParallelFor(loops_.points() * parts, Work(tiles), [&](int64_t task) {
        const int64_t k = task % parts * kFiltersOfTask;
        Add(tiles, task / parts, k, std::min(kFiltersOfTask, filters_ - k), begin > 0, band, sums);
      });
    }
  }

  WinogradTiles tiles_;
  WinogradLoops loops_;
  int64_t channels_, filters_, width_;
  int64_t parts_, shares_, tiles_of_band_;
};

}  // namespace

absl::StatusOr<PreparedKernel> PrepareWinogradConv2dWeightGrad(const LocalNode& node, const WinogradLoops& loops) {
  RETURN_IF_ERROR(RequireF32(node.outputs[0].dtype));
  const Convolution conv = WeightGradConvolution(node);
  RETURN_IF_ERROR(RequireWinograd(conv, loops));
  const WinogradTiles tiles(conv.images.n, loops.side, ImagesOfX(conv), ImagesOfY(conv), conv.window.top,
                            conv.window.left);
  const WinogradWeightGrad grad(tiles, loops);
  return Prepared(
      [grad](const KernelArguments& a) { grad.Run(In<float>(a, 0), In<float>(a, 1), Out<float>(a, 0), a.workspace); },
      grad.workspace_bytes());
}

}  // namespace partita
