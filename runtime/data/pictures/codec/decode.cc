#include "runtime/data/pictures/codec/decode.h"

#include <algorithm>
#include <string_view>

#include "runtime/base/exhaustion.h"
#include "runtime/base/file_kind.h"
#include "runtime/base/status.h"
#include "runtime/data/pictures/codec/jpeg.h"
#include "runtime/data/pictures/codec/png.h"

namespace partita {
namespace {

constexpr std::string_view kPngStart("\x89PNG\r\n\x1a\n", 8);
constexpr std::string_view kJpegStart("\xff\xd8\xff", 3);

std::string_view TextOf(std::span<const uint8_t> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

int64_t BigEndian(std::span<const uint8_t> bytes, size_t begin, size_t count) {
  int64_t value = 0;
  for (size_t i = begin; i < begin + count; ++i) value = value << 8 | bytes[i];
  return value;
}

// Behind the signature and the length and name of the first chunk, which is always IHDR.
std::optional<PictureSize> SizeOfPng(std::span<const uint8_t> bytes) {
  if (bytes.size() < 24) return std::nullopt;
  return PictureSize{BigEndian(bytes, 20, 4), BigEndian(bytes, 16, 4)};
}

// Of the markers C0 to CF those that begin a frame: not DHT, JPG and DAC.
bool BeginsFrame(uint8_t marker) {
  return marker >= 0xC0 && marker <= 0xCF && marker != 0xC4 && marker != 0xC8 && marker != 0xCC;
}

// From segment to segment until the frame's.
std::optional<PictureSize> SizeOfJpeg(std::span<const uint8_t> bytes) {
  size_t at = 2;
  while (at + 9 <= bytes.size() && bytes[at] == 0xFF) {
    if (BeginsFrame(bytes[at + 1])) return PictureSize{BigEndian(bytes, at + 5, 2), BigEndian(bytes, at + 7, 2)};
    const bool fill = bytes[at + 1] == 0xFF;
    at += fill ? 1 : 2 + static_cast<size_t>(BigEndian(bytes, at + 2, 2));
  }
  return std::nullopt;
}

}  // namespace

absl::StatusOr<PictureHead> ReadPictureHead(const std::string& name, std::span<const uint8_t> bytes, int64_t budget) {
  PictureHead head;
  if (TextOf(bytes).starts_with(kPngStart)) {
    head = {PictureFormat::kPng, SizeOfPng(bytes)};
  } else if (TextOf(bytes).starts_with(kJpegStart)) {
    head = {PictureFormat::kJpeg, SizeOfJpeg(bytes)};
  } else {
    return InvalidArgument("{}: found {}, allowed are JPEG and PNG files", name,
                           KindOfFile(TextOf(bytes.first(std::min<size_t>(bytes.size(), kFileKindBytes)))));
  }
  if (head.size) {
    // The first test is of the number of pixels, which bounds the second one's bytes.
    RETURN_IF_ERROR(CheckPictureSize(name, *head.size, 0, budget));
    if (head.size->pixels() > budget) return CheckPictureSize(name, *head.size, head.size->pixels(), budget);
  }
  return head;
}

absl::Status DecodePicture(const std::string& name, std::span<const uint8_t> bytes, int channels, Picture& picture,
                           int64_t budget) {
  return OrExhausted(name.c_str(), [&]() -> absl::Status {
    ASSIGN_OR_RETURN(const PictureHead head, ReadPictureHead(name, bytes, budget));
    return head.format == PictureFormat::kPng ? DecodePng(name, bytes, channels, budget, picture)
                                              : DecodeJpeg(name, bytes, channels, budget, picture);
  });
}

}  // namespace partita
