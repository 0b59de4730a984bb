#include "runtime/data/pictures/transform/view.h"

#include <algorithm>
#include <cmath>

#include "runtime/base/philox.h"

namespace partita {
namespace {

constexpr int kTries = 10;
// Blocks of random numbers of a sample: a try each, then what is drawn once.
constexpr uint64_t kBlocks = 16, kMoveBlock = kTries, kColourBlock = kTries + 1;
constexpr double kLeastAspect = 3.0 / 4, kMostAspect = 4.0 / 3;
constexpr double kLogOfMostAspect = 0.28768207245178085;  // ln(4/3)

// The series, whose every step is exact to the same bit everywhere, which std::exp does not promise. Of |x| < 0.3.
double Exp(double x) {
  double sum = 1, term = 1;
  for (int n = 1; n < 16; ++n) {
    term = term * x / n;
    sum = sum + term;
  }
  return sum;
}

double Between(double least, double most, uint32_t word) {
  return least + (most - least) * static_cast<double>(ToUniform(word));
}

// In [0, most].
int64_t UpTo(int64_t most, uint32_t word) {
  return static_cast<int64_t>(static_cast<double>(most + 1) * static_cast<double>(ToUniform(word)));
}

int64_t Rounded(double value) { return static_cast<int64_t>(std::nearbyint(value)); }

// What fits of the picture's middle if its aspect is brought between the two.
Region MiddlePart(PictureSize picture) {
  const double aspect = static_cast<double>(picture.width) / static_cast<double>(picture.height);
  PictureSize size = picture;
  if (aspect < kLeastAspect) size.height = Rounded(static_cast<double>(picture.width) / kLeastAspect);
  if (aspect > kMostAspect) size.width = Rounded(static_cast<double>(picture.height) * kMostAspect);
  return {(picture.height - size.height) / 2, (picture.width - size.width) / 2, size};
}

Region DrawPart(double least_area, uint64_t key, uint64_t epoch, uint64_t first_block, PictureSize picture) {
  for (uint64_t i = 0; i < kTries; ++i) {
    const PhiloxBlock block = RandomBlock(key, epoch, first_block + i);
    const double area = static_cast<double>(picture.pixels()) * Between(least_area, 1, block.lane[0]);
    const double aspect = Exp(Between(-kLogOfMostAspect, kLogOfMostAspect, block.lane[1]));
    const PictureSize size{Rounded(std::sqrt(area / aspect)), Rounded(std::sqrt(area * aspect))};
    if (size.height < 1 || size.width < 1 || size.height > picture.height || size.width > picture.width) continue;
    return {UpTo(picture.height - size.height, block.lane[2]), UpTo(picture.width - size.width, block.lane[3]), size};
  }
  return MiddlePart(picture);
}

// a * b / c, rounded down, and at least 1.
int64_t Scaled(int64_t a, int64_t b, int64_t c) { return std::max<int64_t>(1, a * b / c); }

// The smallest size of the picture's aspect that covers the size that is shown times resize / its shorter side.
PictureSize CoveringSize(const ViewOptions& options, PictureSize picture) {
  const PictureSize& shown = options.size;
  const int64_t shorter = std::min(shown.height, shown.width), resize = options.resize > 0 ? options.resize : shorter;
  const PictureSize covered{Scaled(shown.height, resize, shorter), Scaled(shown.width, resize, shorter)};
  // The side that is relatively longer in the picture than in what is shown follows the other one.
  if (picture.height * covered.width >= covered.height * picture.width) {
    return {std::max(covered.height, Scaled(covered.width, picture.height, picture.width)), covered.width};
  }
  return {covered.height, std::max(covered.width, Scaled(covered.height, picture.width, picture.height))};
}

ColourFactors DrawColour(double strength, const PhiloxBlock& block) {
  if (strength == 0) return {};
  const auto factor = [&](int lane) { return Between(1 - strength, 1 + strength, block.lane[lane]); };
  return {factor(0), factor(1), factor(2)};
}

}  // namespace

View MiddleView(const ViewOptions& options, PictureSize picture) {
  View view;
  view.source.size = picture;
  view.scaled = CoveringSize(options, picture);
  view.top = Rounded(static_cast<double>(view.scaled.height - options.size.height) / 2);
  view.left = Rounded(static_cast<double>(view.scaled.width - options.size.width) / 2);
  return view;
}

View DrawView(const ViewOptions& options, uint64_t key, int64_t epoch, int64_t sample, PictureSize picture) {
  const uint64_t iteration = static_cast<uint64_t>(epoch), first_block = static_cast<uint64_t>(sample) * kBlocks;
  const PhiloxBlock move = RandomBlock(key, iteration, first_block + kMoveBlock);
  View view;
  if (options.least_area > 0) {
    view.source = DrawPart(options.least_area, key, iteration, first_block, picture);
    view.scaled = options.size;
  } else {
    view = MiddleView(options, picture);
    view.top += UpTo(2 * options.shift, move.lane[0]) - options.shift;
    view.left += UpTo(2 * options.shift, move.lane[1]) - options.shift;
  }
  view.flip = options.flip && ToUniform(move.lane[2]) < 0.5f;
  view.colour = DrawColour(options.colour, RandomBlock(key, iteration, first_block + kColourBlock));
  return view;
}

}  // namespace partita
