// From the channels that a file has to those that are wanted, a row of pixels at a time.
#ifndef PARTITA_RUNTIME_DATA_PICTURES_CODEC_CHANNELS_H_
#define PARTITA_RUNTIME_DATA_PICTURES_CODEC_CHANNELS_H_

#include <cstdint>
#include <span>

namespace partita {

// The luma of ITU-R 601, rounded: 299, 587 and 114 thousandths.
inline uint8_t Luma(int red, int green, int blue) {
  return static_cast<uint8_t>((19595 * red + 38470 * green + 7471 * blue + 32768) >> 16);
}

// `in` has 1 (grey), 2 (grey, alpha), 3 (red, green, blue) or 4 (and alpha) bytes a pixel, `out` 1 or 3. What is
// transparent shows white: (alpha * x + (255 - alpha) * 255) / 255, rounded.
void ConvertChannels(std::span<const uint8_t> in, int in_channels, std::span<uint8_t> out, int out_channels);

// `in` has 4 bytes a pixel: cyan, magenta, yellow and black as Adobe writes them, 255 for no ink.
void ConvertInks(std::span<const uint8_t> in, std::span<uint8_t> out, int out_channels);

}  // namespace partita

#endif  // PARTITA_RUNTIME_DATA_PICTURES_CODEC_CHANNELS_H_
