// Where Winograd's convolutions are worthwhile, and with which vectors: where they were faster than oneDNN's direct
// ones, on a machine with AVX-512. That depends on the sizes and on what vectors the machine has, so ranks of like
// machines choose alike. Elsewhere they are there to be measured (PreparedKernel::worthwhile).
#include <algorithm>

#include "ops/host/winograd/convolution.h"
#include "ops/host/winograd/line_choice.h"
#include "ops/host/winograd/winograd_kernels.h"
#include "ops/values/node_geometry.h"

namespace partita {
namespace {

// Few channels do not pay for the transforms of the tiles, few tiles not for those of the filters, and images whose
// tiles reach far beyond the ends for neither.
absl::Status Worthwhile(const Images& images, int64_t h, int64_t w) {
  constexpr int64_t kFewestChannels = 16, kFewestTiles = 64;
  if (std::min(images.c, images.out_c) < kFewestChannels) {
    return InvalidArgument("{} and {} channels, fewer than {}", images.c, images.out_c, kFewestChannels);
  }
  const int64_t tiles = images.n * CeilDivide(h, 2) * CeilDivide(w, 2);
  if (tiles < kFewestTiles) return InvalidArgument("{} tiles of 2 x 2 pixels, fewer than {}", tiles, kFewestTiles);
  const int64_t products = 9 * images.n * h * w, of_tiles = kWinogradPoints * tiles;
  if (2 * products >= 3 * of_tiles) return absl::OkStatus();
  return InvalidArgument("tiles of 2 x 2 pixels save less than a third of the products of {} x {}", h, w);
}

// The widest vectors that the channels fill, else the widest.
absl::StatusOr<const WinogradLoops*> ChooseLoops(const Images& images) {
  const std::vector<const WinogradLoops*>& all = WinogradLoopsOfThisMachine();
  if (all.empty()) return InvalidArgument("the machine has no AVX2");
  for (const WinogradLoops* loops : all) {
    if (images.c % loops->lanes == 0 && images.out_c % loops->lanes == 0) return loops;
  }
  return all.front();
}

absl::StatusOr<PreparedKernel> Rated(absl::StatusOr<PreparedKernel> prepared, const absl::Status& worthwhile) {
  if (prepared.ok()) prepared->worthwhile = worthwhile;
  return prepared;
}

// What tiles are for; other windows are for lines.
bool IsSquare(const SlidingWindow& window) { return window.kernel_h == 3 && window.kernel_w == 3; }

}  // namespace

absl::StatusOr<PreparedKernel> WinogradConv2d(const LocalNode& node) {
  const Convolution conv = ForwardConvolution(node);
  if (!IsSquare(conv.window)) return LineConv2d(node);
  const Images& images = conv.images;
  ASSIGN_OR_RETURN(const WinogradLoops* const loops, ChooseLoops(images));
  return Rated(PrepareWinogradConv2d(node, *loops), Worthwhile(images, images.out_h, images.out_w));
}

absl::StatusOr<PreparedKernel> WinogradConv2dInputGrad(const LocalNode& node) {
  const Convolution conv = InputGradConvolution(node);
  if (!IsSquare(conv.window)) return LineConv2dInputGrad(node);
  const Images& images = conv.images;
  ASSIGN_OR_RETURN(const WinogradLoops* const loops, ChooseLoops(images));
  return Rated(PrepareWinogradConv2dInputGrad(node, *loops), Worthwhile(images, images.h, images.w));
}

absl::StatusOr<PreparedKernel> WinogradConv2dWeightGrad(const LocalNode& node) {
  const Convolution conv = WeightGradConvolution(node);
  if (!IsSquare(conv.window)) return LineConv2dWeightGrad(node);
  const Images& images = conv.images;
  ASSIGN_OR_RETURN(const WinogradLoops* const loops, ChooseLoops(images));
  return Rated(PrepareWinogradConv2dWeightGrad(node, *loops), Worthwhile(images, images.out_h, images.out_w));
}

}  // namespace partita
