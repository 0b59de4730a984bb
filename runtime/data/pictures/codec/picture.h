// A decoded picture, and how large one may be.
#ifndef PARTITA_RUNTIME_DATA_PICTURES_CODEC_PICTURE_H_
#define PARTITA_RUNTIME_DATA_PICTURES_CODEC_PICTURE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"

namespace partita {

struct PictureSize {
  int64_t height = 0;
  int64_t width = 0;

  int64_t pixels() const { return height * width; }
  bool operator==(const PictureSize&) const = default;
};

// Its memory is kept from one picture to the next that is decoded into it.
struct Picture {
  PictureSize size;
  int64_t channels = 0;
  std::vector<uint8_t> pixels;  // [height, width, channels] from the front; may be longer
};

// Clip art of 16,000 x 16,000 pixels exists; more is a file that wants our memory.
inline constexpr int64_t kMostPicturePixels = int64_t{1} << 28;
inline constexpr int64_t kLargestPictureFile = int64_t{256} << 20;  // bytes

// The default budget of decoding one picture, in bytes: the file, the decoded pixels, and what a decoder holds between
// (all coefficients of a progressive JPEG file, all rows of an interlaced PNG file). A photograph of 61 megapixels
// takes 183 MB.
inline constexpr int64_t kDecodeBytes = int64_t{256} << 20;

// To be asked before memory is taken for a size that a file claims. kInvalidArgument: no pixels, or too many; decoding
// takes `bytes`, which are more than `budget`. kResourceExhausted: the machine has less memory free than that.
absl::Status CheckPictureSize(const std::string& name, PictureSize size, int64_t bytes, int64_t budget);

}  // namespace partita

#endif  // PARTITA_RUNTIME_DATA_PICTURES_CODEC_PICTURE_H_
