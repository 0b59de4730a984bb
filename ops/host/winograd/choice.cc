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

int64_t TilesOf(const Images& images, int64_t h, int64_t w, int64_t side) {
  return images.n * CeilDivide(h, side) * CeilDivide(w, side);
}

// Few channels do not pay for the transforms of the tiles, few tiles not for those of the filters, and images whose
// tiles reach far beyond the ends for neither.
absl::Status Worthwhile(const Images& images, int64_t h, int64_t w, const WinogradLoops& loops) {
  constexpr int64_t kFewestChannels = 16, kFewestTiles = 64;
  if (std::min(images.c, images.out_c) < kFewestChannels) {
    return InvalidArgument("{} and {} channels, fewer than {}", images.c, images.out_c, kFewestChannels);
  }
  const int64_t tiles = TilesOf(images, h, w, 2);
  if (tiles < kFewestTiles) return InvalidArgument("{} tiles of 2 x 2 pixels, fewer than {}", tiles, kFewestTiles);
  const int64_t products = 9 * images.n * h * w, of_tiles = loops.points() * TilesOf(images, h, w, loops.side);
  if (2 * products >= 3 * of_tiles) return absl::OkStatus();
  return InvalidArgument("tiles of {} x {} pixels save less than a third of the products of {} x {}", loops.side,
                         loops.side, h, w);
}

// Products of matrices for images of such tiles; the transforms of the filters take the time of so many tiles.
int64_t Costs(const Images& images, int64_t h, int64_t w, const WinogradLoops& loops) {
  constexpr int64_t kFilters = 32;
  return loops.points() * (TilesOf(images, h, w, loops.side) + kFilters);
}

// The widest vectors that the channels fill, else the widest; of these the tiles that cost less, up to the largest.
absl::StatusOr<const WinogradLoops*> ChooseLoops(const Images& images, int64_t h, int64_t w, int64_t largest) {
  const std::vector<const WinogradLoops*>& all = WinogradLoopsOfThisMachine();
  if (all.empty()) return InvalidArgument("the machine has no AVX2");
  const auto filled = std::find_if(all.begin(), all.end(), [&](const WinogradLoops* loops) {
    return images.c % loops->lanes == 0 && images.out_c % loops->lanes == 0;
  });
  const int64_t lanes = filled == all.end() ? all.front()->lanes : (*filled)->lanes;
  const WinogradLoops* best = nullptr;
  for (const WinogradLoops* loops : all) {
    if (loops->lanes != lanes || loops->side > largest) continue;
    if (best == nullptr || Costs(images, h, w, *loops) < Costs(images, h, w, *best)) best = loops;
  }
  return best;
}

// What a forward convolution rounds comes into all gradients, through statistics and masks; what they round, hardly.
constexpr int64_t kLargestForward = 2, kLargestOfGradients = 4;

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
  ASSIGN_OR_RETURN(const WinogradLoops* const loops, ChooseLoops(images, images.out_h, images.out_w, kLargestForward));
  return Rated(PrepareWinogradConv2d(node, *loops), Worthwhile(images, images.out_h, images.out_w, *loops));
}

absl::StatusOr<PreparedKernel> WinogradConv2dInputGrad(const LocalNode& node) {
  const Convolution conv = InputGradConvolution(node);
  if (!IsSquare(conv.window)) return LineConv2dInputGrad(node);
  const Images& images = conv.images;
  ASSIGN_OR_RETURN(const WinogradLoops* const loops, ChooseLoops(images, images.h, images.w, kLargestOfGradients));
  return Rated(PrepareWinogradConv2dInputGrad(node, *loops), Worthwhile(images, images.h, images.w, *loops));
}

absl::StatusOr<PreparedKernel> WinogradConv2dWeightGrad(const LocalNode& node) {
  const Convolution conv = WeightGradConvolution(node);
  if (!IsSquare(conv.window)) return LineConv2dWeightGrad(node);
  const Images& images = conv.images;
  ASSIGN_OR_RETURN(const WinogradLoops* const loops,
                   ChooseLoops(images, images.out_h, images.out_w, kLargestOfGradients));
  return Rated(PrepareWinogradConv2dWeightGrad(node, *loops), Worthwhile(images, images.out_h, images.out_w, *loops));
}

}  // namespace partita
