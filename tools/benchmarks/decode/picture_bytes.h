// Writes PNG and JPEG files by the libraries' own writers: pictures to decode, in tests and benchmarks.
#ifndef PARTITA_TOOLS_BENCHMARKS_DECODE_PICTURE_BYTES_H_
#define PARTITA_TOOLS_BENCHMARKS_DECODE_PICTURE_BYTES_H_

#include <png.h>

#include <cstdint>
#include <string>
#include <vector>

namespace partita {

// How a PNG file stores its pixels.
struct PngForm {
  int colour_type = PNG_COLOR_TYPE_RGB;
  int depth = 8;
  bool interlaced = false;
  std::vector<png_color> palette = {};
  std::vector<uint8_t> palette_alpha = {};
};

// `stored`: the rows as the file has them.
std::string PngBytes(uint32_t height, uint32_t width, std::vector<uint8_t> stored, const PngForm& form = {});

// `pixels`: grey, red-green-blue, or the inks that Adobe inverts (255: none), by how many there are; two
// components mean nothing. `quality`: of libjpeg, up to 100.
std::string JpegBytes(uint32_t height, uint32_t width, std::vector<uint8_t> pixels, bool progressive = false,
                      int quality = 100);

}  // namespace partita

#endif  // PARTITA_TOOLS_BENCHMARKS_DECODE_PICTURE_BYTES_H_
