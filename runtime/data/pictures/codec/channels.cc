#include "runtime/data/pictures/codec/channels.h"

#include <algorithm>

namespace partita {
namespace {

// a * b / 255, rounded, for a, b in [0, 255].
int Product(int a, int b) {
  const int product = a * b + 128;
  return ((product >> 8) + product) >> 8;
}

uint8_t OnWhite(int value, int alpha) { return static_cast<uint8_t>(255 - Product(255 - value, alpha)); }

void Put(int red, int green, int blue, uint8_t* out, int channels) {
  if (channels == 1) {
    out[0] = Luma(red, green, blue);
    return;
  }
  out[0] = static_cast<uint8_t>(red);
  out[1] = static_cast<uint8_t>(green);
  out[2] = static_cast<uint8_t>(blue);
}

}  // namespace

void ConvertChannels(std::span<const uint8_t> in, int in_channels, std::span<uint8_t> out, int out_channels) {
  if (in_channels == out_channels) {
    std::ranges::copy(in, out.begin());
    return;
  }
  const bool grey = in_channels < 3, transparent = in_channels % 2 == 0;
  uint8_t* to = out.data();
  for (size_t i = 0; i < in.size(); i += static_cast<size_t>(in_channels), to += out_channels) {
    const uint8_t* pixel = &in[i];
    int red = pixel[0], green = pixel[grey ? 0 : 1], blue = pixel[grey ? 0 : 2];
    if (transparent) {
      const int alpha = pixel[in_channels - 1];
      red = OnWhite(red, alpha);
      green = OnWhite(green, alpha);
      blue = OnWhite(blue, alpha);
    }
    Put(red, green, blue, to, out_channels);
  }
}

void ConvertInks(std::span<const uint8_t> in, std::span<uint8_t> out, int out_channels) {
  uint8_t* to = out.data();
  for (size_t i = 0; i < in.size(); i += 4, to += out_channels) {
    const int black = in[i + 3];
    Put(Product(in[i], black), Product(in[i + 1], black), Product(in[i + 2], black), to, out_channels);
  }
}

}  // namespace partita
