#include "runtime/data/pictures/codec/decode.h"

#include <string_view>

#include "runtime/base/exhaustion.h"
#include "runtime/base/status.h"
#include "runtime/data/pictures/codec/jpeg.h"
#include "runtime/data/pictures/codec/png.h"

namespace partita {
namespace {

constexpr std::string_view kPngStart("\x89PNG\r\n\x1a\n", 8);
constexpr std::string_view kJpegStart("\xff\xd8\xff", 3);

bool Begins(std::span<const uint8_t> bytes, std::string_view start) {
  return std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size()).starts_with(start);
}

// What a file is that we do not read, as far as people have such files among their pictures.
const char* KindOf(std::span<const uint8_t> bytes) {
  if (bytes.empty()) return "an empty file";
  if (Begins(bytes, "GIF8")) return "a GIF file";
  if (Begins(bytes, "BM")) return "a BMP file";
  if (Begins(bytes, "II*") || Begins(bytes, "MM")) return "a TIFF file";
  if (Begins(bytes, "RIFF") && bytes.size() > 12 && Begins(bytes.subspan(8), "WEBP")) return "a WebP file";
  return "something else";
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

absl::StatusOr<PictureHead> ReadPictureHead(const std::string& name, std::span<const uint8_t> bytes) {
  PictureHead head;
  if (Begins(bytes, kPngStart)) {
    head = {PictureFormat::kPng, SizeOfPng(bytes)};
  } else if (Begins(bytes, kJpegStart)) {
    head = {PictureFormat::kJpeg, SizeOfJpeg(bytes)};
  } else {
    return InvalidArgument("{}: found {}, allowed are JPEG and PNG files", name, KindOf(bytes));
  }
  if (head.size) RETURN_IF_ERROR(CheckPictureSize(name, *head.size, 0));
  return head;
}

absl::Status DecodePicture(const std::string& name, std::span<const uint8_t> bytes, int channels, Picture& picture) {
  return OrExhausted(name.c_str(), [&]() -> absl::Status {
    ASSIGN_OR_RETURN(const PictureHead head, ReadPictureHead(name, bytes));
    return head.format == PictureFormat::kPng ? DecodePng(name, bytes, channels, picture)
                                              : DecodeJpeg(name, bytes, channels, picture);
  });
}

}  // namespace partita
