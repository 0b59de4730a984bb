// Where convolutions along lines were faster than oneDNN's direct ones, on a machine with AVX-512. As in choice.cc that
// depends on the sizes and on what vectors the machine has.
#include "ops/host/winograd/line_choice.h"

#include <algorithm>
#include <utility>

#include "ops/host/winograd/line_convolution.h"
#include "ops/host/winograd/line_tiles.h"
#include "ops/values/node_geometry.h"

namespace partita {
namespace {

// The taps of all windows along one axis that see pixels and no padding: direct convolutions leave out the others.
int64_t TapsInside(int64_t outputs, int64_t taps, int64_t before, int64_t pixels) {
  int64_t inside = 0;
  for (int64_t i = 0; i < outputs; ++i) {
    inside += std::max<int64_t>(0, std::min(pixels, i - before + taps) - std::max<int64_t>(0, i - before));
  }
  return inside;
}

// Few channels do not pay for the transforms of the tiles, few tiles not for those of the filters. `conv` is the
// convolution whose pixels are made: of an input gradient the one of dy.
absl::Status Worthwhile(const Convolution& conv) {
  constexpr int64_t kFewestChannels = 32, kFewestTiles = 64;
  const Images& images = conv.images;
  const SlidingWindow& window = conv.window;
  if (std::min(images.c, images.out_c) < kFewestChannels) {
    return InvalidArgument("{} and {} channels, fewer than {}", images.c, images.out_c, kFewestChannels);
  }
  const LineTiles tiles(images.n, ImagesOfX(conv), ImagesOfY(conv), window, window.top, window.left);
  // A weight gradient begins anew with every image whose lines are not alone.
  const int64_t together = tiles.lines() * tiles.tiles();
  if (together < kFewestTiles) return InvalidArgument("{} tiles together, fewer than {}", together, kFewestTiles);
  const int64_t direct = images.n * TapsInside(images.out_h, window.kernel_h, window.top, images.h) *
                         TapsInside(images.out_w, window.kernel_w, window.left, images.w);
  const int64_t products = tiles.stacks() * together * tiles.form().products() * tiles.across();
  if (3 * direct >= 4 * products) return absl::OkStatus();
  return InvalidArgument("the tiles of lines save less than a quarter of the products of {} x {}", images.out_h,
                         images.out_w);
}

// Of dy and turned filters.
Convolution Turned(const Convolution& conv) {
  Convolution turned = conv;
  const Images& images = conv.images;
  turned.images = {images.n, images.out_h, images.out_w, images.out_c, images.h, images.w, images.c};
  turned.window.top = conv.window.kernel_h - 1 - conv.window.top;
  turned.window.left = conv.window.kernel_w - 1 - conv.window.left;
  std::swap(turned.x, turned.y);
  return turned;
}

// The widest vectors that the channels fill, else the widest.
absl::StatusOr<const LineLoops*> ChooseLoops(const Images& images) {
  const std::vector<const LineLoops*>& all = LineLoopsOfThisMachine();
  if (all.empty()) return InvalidArgument("the machine has no AVX2");
  const auto filled = std::find_if(all.begin(), all.end(), [&](const LineLoops* loops) {
    return images.c % loops->lanes == 0 && images.out_c % loops->lanes == 0;
  });
  return filled == all.end() ? all.front() : *filled;
}

absl::StatusOr<PreparedKernel> Rated(absl::StatusOr<PreparedKernel> prepared, const Convolution& conv) {
  if (prepared.ok()) prepared->worthwhile = Worthwhile(conv);
  return prepared;
}

}  // namespace

absl::StatusOr<PreparedKernel> LineConv2d(const LocalNode& node) {
  const Convolution conv = ForwardConvolution(node);
  ASSIGN_OR_RETURN(const LineLoops* const loops, ChooseLoops(conv.images));
  return Rated(PrepareLineConv2d(node, *loops), conv);
}

absl::StatusOr<PreparedKernel> LineConv2dInputGrad(const LocalNode& node) {
  const Convolution conv = InputGradConvolution(node);
  ASSIGN_OR_RETURN(const LineLoops* const loops, ChooseLoops(conv.images));
  return Rated(PrepareLineConv2dInputGrad(node, *loops), Turned(conv));
}

absl::StatusOr<PreparedKernel> LineConv2dWeightGrad(const LocalNode& node) {
  const Convolution conv = WeightGradConvolution(node);
  ASSIGN_OR_RETURN(const LineLoops* const loops, ChooseLoops(conv.images));
  return Rated(PrepareLineConv2dWeightGrad(node, *loops), conv);
}

}  // namespace partita
