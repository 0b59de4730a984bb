// Picture files, told apart by their first bytes, not by their names.
#ifndef PARTITA_RUNTIME_DATA_PICTURES_CODEC_DECODE_H_
#define PARTITA_RUNTIME_DATA_PICTURES_CODEC_DECODE_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/data/pictures/codec/picture.h"

namespace partita {

enum class PictureFormat { kJpeg, kPng };

struct PictureHead {
  PictureFormat format = PictureFormat::kJpeg;
  std::optional<PictureSize> size;  // none: the file says it behind the bytes that were given
};

// As many bytes of a file's beginning are enough to know what it is, and nearly always how large.
inline constexpr int64_t kPictureHeadBytes = 4096;

// From the first bytes of a file. kInvalidArgument: neither a JPEG nor a PNG file, or one whose grey pixels alone do
// not fit the budget.
absl::StatusOr<PictureHead> ReadPictureHead(const std::string& name, std::span<const uint8_t> bytes,
                                            int64_t budget = kDecodeBytes);

// The whole picture in 1 channel (grey) or 3 (red, green, blue), as a viewer shows it. Decoding takes at most `budget`
// bytes. kInvalidArgument: the file, and what is wrong with it. kResourceExhausted: there is no memory for it.
absl::Status DecodePicture(const std::string& name, std::span<const uint8_t> bytes, int channels, Picture& picture,
                           int64_t budget = kDecodeBytes);

}  // namespace partita

#endif  // PARTITA_RUNTIME_DATA_PICTURES_CODEC_DECODE_H_
