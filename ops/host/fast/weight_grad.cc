// A convolution's weight gradient where the images lie, for machines whose oneDNN does it slower (AVX2 without
// AVX-512):
//
//   dw[o,p,q,c] = sum over pixels (n,i,j) of dy[n,i,j,o] x[n, i + p, j + q, c]
//
// Every place (p, q) of the window is a product of matrices over the pixels that see the image there. What they see of
// a few channels is laid out as a panel, which then meets all channels of dy. Sums are of a panel's pixels first, so
// that they round less than one long sum does; what a thread computes depends on the sizes alone.
#include <algorithm>
#include <vector>

#include "ops/host/fast/fast_kernels.h"
#include "ops/host/kernel/parallel.h"
#include "ops/host/products/weight_tile.h"
#include "ops/values/node_geometry.h"

namespace partita {
namespace {

// A block of dw: one place of the window, some channels of x and some of dy, of one group.
struct WeightBlock {
  int64_t group, p, q;
  IndexRange channels, out_channels;  // of the group
};

// Two halves of 32 channels are faster than three quarters and one.
int64_t PanelChannels(int64_t left) { return left == 32 ? 16 : std::min(left, kPanelChannels); }

class WeightGrad {
 public:
  explicit WeightGrad(const Convolution& conv) : conv_(conv) {
    const int64_t filters = conv.group_out_c();
    const int64_t places = conv.groups * conv.window.kernel_h * conv.window.kernel_w;
    const int64_t panels = places * CeilDivide(conv.group_c(), kPanelChannels);
    const int64_t parts = Larger(1, Smaller(kBlocks / Larger(1, panels), filters / 32));
    filters_of_block_ = CeilDivide(CeilDivide(filters, parts), 8) * 8;
  }

  std::vector<WeightBlock> Blocks() const {
    std::vector<WeightBlock> blocks;
    for (int64_t group = 0; group < conv_.groups; ++group) {
      for (int64_t p = 0; p < conv_.window.kernel_h; ++p) {
        for (int64_t q = 0; q < conv_.window.kernel_w; ++q) AppendBlocks(group, p, q, blocks);
      }
    }
    return blocks;
  }

  // Rows of outputs whose pixels, and what they see, lie in the caches while all blocks pass over them.
  std::vector<IndexRange> Bands() const {
    const Images& size = conv_.images;
    const int64_t pixel_bytes = (size.c * conv_.window.stride_h * conv_.window.stride_w + size.out_c) * 4;
    const int64_t pixels = std::max(kFewestPixels, kBandBytes / std::max<int64_t>(1, pixel_bytes));
    const int64_t rows = size.n * size.out_h, of_band = std::max<int64_t>(1, pixels / std::max<int64_t>(1, size.out_w));
    std::vector<IndexRange> bands;
    for (int64_t r = 0; r < rows || bands.empty(); r += of_band) bands.push_back({r, std::min(rows, r + of_band)});
    return bands;
  }

  // The band's part of a block of dw: the first is its value, the others are added.
  void Compute(const WeightBlock& block, const IndexRange& band, const float* x, const float* dy, float* dw) const {
    PixelPanel panel;
    panel.channels = block.channels.end - block.channels.begin;
    const int64_t filters = block.out_channels.end - block.out_channels.begin;
    const int64_t first = block.group * conv_.group_out_c() + block.out_channels.begin;
    const int64_t stride = conv_.window.kernel_h * conv_.window.kernel_w * conv_.group_c();
    float* const out =
        dw + first * stride + (block.p * conv_.window.kernel_w + block.q) * conv_.group_c() + block.channels.begin;
    bool add = band.begin > 0;
    const auto flush = [&] {
      AddPanel(panel, dy + first, filters, add, out, stride);
      panel.pixels = 0;
      add = true;
    };
    ForRuns(block, band, x, [&](PixelRun run) {
      while (run.pixels > 0) {
        AppendPixels(panel, run);
        if (panel.pixels == kPanelPixels) flush();
      }
    });
    if (panel.pixels > 0 || !add) flush();
  }

 private:
  static constexpr int64_t kBlocks = 32;  // wanted, for threads to share
  static constexpr int64_t kBandBytes = 384 * 1024, kFewestPixels = 4 * kPanelPixels;

  void AppendBlocks(int64_t group, int64_t p, int64_t q, std::vector<WeightBlock>& blocks) const {
    const int64_t channels = conv_.group_c(), filters = conv_.group_out_c();
    for (int64_t c = 0; c < channels;) {
      const int64_t end = c + PanelChannels(channels - c);
      for (int64_t o = 0; o < filters; o += filters_of_block_) {
        blocks.push_back({group, p, q, {c, end}, {o, std::min(filters, o + filters_of_block_)}});
      }
      c = end;
    }
  }

  // Calls f for the band's pixels that see the image at the block's place, row by row.
  template <typename F>
  void ForRuns(const WeightBlock& block, const IndexRange& band, const float* x, const F& f) const {
    const Images& size = conv_.images;
    const SlidingWindow& window = conv_.window;
    const int64_t channel = block.group * conv_.group_c() + block.channels.begin;
    const int64_t shift = block.q * window.dilation_w - window.left;  // the image's column of output column 0
    const int64_t begin = shift >= 0 ? 0 : CeilDivide(-shift, window.stride_w);
    const int64_t end = shift >= size.w ? 0 : Smaller(size.out_w, (size.w - 1 - shift) / window.stride_w + 1);
    if (end <= begin) return;
    for (int64_t r = band.begin; r < band.end; ++r) {
      const int64_t n = r / size.out_h, i = r % size.out_h;
      const int64_t pixel = conv_.Pixel(n, i, begin, block.p, block.q);
      if (pixel < 0) continue;
      f({x + pixel * size.c + channel, conv_.y.At(n, i, begin) * size.out_c, window.stride_w * size.c, size.out_c,
         end - begin});
    }
  }

  Convolution conv_;
  int64_t filters_of_block_;
};

// Refuses what oneDNN is as fast at: channels that fill no panel, and plain products of few weights.
absl::Status Worthwhile(const Convolution& conv) {
  constexpr int64_t kManyWeights = 1 << 18;
  if (conv.group_c() < kPanelChannels) {
    return InvalidArgument("groups have {} channels, fewer than {}", conv.group_c(), kPanelChannels);
  }
  const bool product = conv.window.kernel_h * conv.window.kernel_w == 1;
  if (!product || conv.weights() / conv.groups >= kManyWeights) return absl::OkStatus();
  return InvalidArgument("a window of one pixel has {} weights, fewer than {}", conv.weights() / conv.groups,
                         kManyWeights);
}

}  // namespace

absl::StatusOr<PreparedKernel> FastConv2dWeightGrad(const LocalNode& node) {
  RETURN_IF_ERROR(RequireF32(node.outputs[0].dtype));
  if (!HasWeightTiles()) return InvalidArgument("the machine has no AVX2");
  const Convolution conv = WeightGradConvolution(node);
  RETURN_IF_ERROR(Worthwhile(conv));
  const WeightGrad grad(conv);
  const int64_t work = conv.weights() * conv.images.n * conv.images.out_h * conv.images.out_w / 8;
  return Prepared([grad, work, blocks = grad.Blocks(), bands = grad.Bands()](const KernelArguments& a) {
    const auto count = static_cast<int64_t>(blocks.size());
    const int64_t shares = std::min<int64_t>(MaxThreads(), count);
    ParallelFor(shares, work, [&](int64_t share) {
      for (const IndexRange& band : bands) {
        for (int64_t b = share * count / shares; b < (share + 1) * count / shares; ++b) {
          grad.Compute(blocks[b], band, In<float>(a, 0), In<float>(a, 1), Out<float>(a, 0));
        }
      }
    });
  });
}

}  // namespace partita
