#include "runtime/data/pictures/transform/colour.h"

#include <algorithm>
#include <array>

#include "runtime/data/pictures/codec/channels.h"

namespace partita {
namespace {

constexpr int kFactorBits = 12;

int Fixed(double factor) { return static_cast<int>(factor * (1 << kFactorBits) + 0.5); }

// origin + factor * (value - origin), rounded.
int Away(int value, int origin, int factor) {
  const int moved = origin + (((value - origin) * factor + (1 << (kFactorBits - 1))) >> kFactorBits);
  return std::clamp(moved, 0, 255);
}

void Move(std::span<uint8_t> pixels, int origin, int factor) {
  std::array<uint8_t, 256> table;
  for (int byte = 0; byte < 256; ++byte)
    table[static_cast<size_t>(byte)] = static_cast<uint8_t>(Away(byte, origin, factor));
  for (uint8_t& pixel : pixels) pixel = table[pixel];
}

int MeanLuma(std::span<const uint8_t> pixels, int64_t channels) {
  uint64_t sum = 0;
  if (channels == 1) {
    for (const uint8_t pixel : pixels) sum += pixel;
  } else {
    for (size_t i = 0; i < pixels.size(); i += 3) sum += Luma(pixels[i], pixels[i + 1], pixels[i + 2]);
  }
  const uint64_t count = pixels.size() / static_cast<uint64_t>(channels);
  return static_cast<int>((2 * sum + count) / (2 * count));
}

void Saturate(std::span<uint8_t> pixels, int factor) {
  for (size_t i = 0; i < pixels.size(); i += 3) {
    const int luma = Luma(pixels[i], pixels[i + 1], pixels[i + 2]);
    for (size_t c = i; c < i + 3; ++c) pixels[c] = static_cast<uint8_t>(Away(pixels[c], luma, factor));
  }
}

}  // namespace

void AdjustColour(const ColourFactors& factors, int64_t channels, std::span<uint8_t> pixels) {
  if (factors == ColourFactors{} || pixels.empty()) return;
  Move(pixels, 0, Fixed(factors.brightness));
  Move(pixels, MeanLuma(pixels, channels), Fixed(factors.contrast));
  if (channels == 3) Saturate(pixels, Fixed(factors.saturation));
}

}  // namespace partita
