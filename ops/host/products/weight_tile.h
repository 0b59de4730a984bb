// The innermost loop of a convolution's weight gradient: a block of dw in registers, over the pixels of a panel.
#ifndef PARTITA_OPS_HOST_PRODUCTS_WEIGHT_TILE_H_
#define PARTITA_OPS_HOST_PRODUCTS_WEIGHT_TILE_H_

#include <cstdint>

namespace partita {

// Pixels of a panel, and the channels of x that one holds at most: it stays in the first cache.
inline constexpr int64_t kPanelPixels = 192;
inline constexpr int64_t kPanelChannels = 24;

// What output pixels see of x at one place of the window, in some channels, and where these pixels lie in dy.
struct PixelPanel {
  int64_t pixels = 0;
  int64_t channels = 0;  // of x, at most kPanelChannels
  alignas(64) float x[kPanelPixels * kPanelChannels];
  int64_t dy[kPanelPixels];  // offsets

  // The distance of pixels in `x`: channels in whole vectors. What is between them and the next pixel is zero.
  int64_t width() const { return (channels + 7) / 8 * 8; }
};

// Whether the machine has the instructions of what follows (AVX2 and FMA).
bool HasWeightTiles();

// Of pixels in a row of the image: where the first lies in x (its channels) and dy, and the distance to the next.
struct PixelRun {
  const float* x;
  int64_t dy;
  int64_t x_step, dy_step;
  int64_t pixels;
};

// Appends as many of the run's first pixels as there is room for, and takes them from the run.
void AppendPixels(PixelPanel& panel, PixelRun& run);

// dw[o * stride + c] = or += the sum over the panel's pixels of dy[pixel + o] x[pixel][c], for 0 <= o < out_channels.
void AddPanel(const PixelPanel& panel, const float* dy, int64_t out_channels, bool add, float* dw, int64_t stride);

}  // namespace partita

#endif  // PARTITA_OPS_HOST_PRODUCTS_WEIGHT_TILE_H_
