#include "runtime/data/pictures/codec/orientation.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <string_view>

namespace partita {
namespace {

using Bytes = std::span<const uint8_t>;

bool Begins(Bytes bytes, std::string_view start) {
  return std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size()).starts_with(start);
}

// Unsigned numbers of a TIFF file, which says their byte order; none beyond its end.
class Tiff {
 public:
  explicit Tiff(Bytes bytes) : bytes_(bytes), little_(Begins(bytes, std::string_view("II*\0", 4))) {}

  bool known() const { return little_ || Begins(bytes_, std::string_view("MM\0*", 4)); }

  std::optional<uint32_t> Number(size_t offset, size_t count) const {
    if (offset > bytes_.size() || count > bytes_.size() - offset) return std::nullopt;
    uint32_t value = 0;
    for (size_t i = 0; i < count; ++i) value = value << 8 | bytes_[offset + (little_ ? count - 1 - i : i)];
    return value;
  }

 private:
  Bytes bytes_;
  bool little_;
};

// Entries of the first directory have 12 bytes: tag, type, count, value.
Orientation OrientationOfTiff(Bytes bytes) {
  constexpr uint32_t kTag = 0x0112, kShort = 3;
  const Tiff tiff(bytes);
  const std::optional<uint32_t> directory = tiff.Number(4, 4);
  if (!tiff.known() || !directory) return Orientation::kTopLeft;
  const uint32_t entries = tiff.Number(*directory, 2).value_or(0);
  for (uint32_t i = 0; i < entries; ++i) {
    const size_t entry = size_t{*directory} + 2 + size_t{12} * i;
    if (tiff.Number(entry, 2) != kTag || tiff.Number(entry + 2, 2) != kShort) continue;
    const uint32_t value = tiff.Number(entry + 8, 2).value_or(0);
    return value >= 1 && value <= 8 ? static_cast<Orientation>(value) : Orientation::kTopLeft;
  }
  return Orientation::kTopLeft;
}

size_t BigEndian(Bytes bytes, size_t begin, size_t count) {
  size_t value = 0;
  for (size_t i = begin; i < begin + count; ++i) value = value << 8 | bytes[i];
  return value;
}

}  // namespace

Orientation OrientationOfJpeg(Bytes file) {
  constexpr std::string_view kExif("Exif\0\0", 6);
  constexpr uint8_t kApp1 = 0xE1, kStartOfScan = 0xDA;
  size_t at = 2;
  while (at + 4 <= file.size() && file[at] == 0xFF && file[at + 1] != kStartOfScan) {
    if (file[at + 1] == 0xFF) {  // fills up
      ++at;
      continue;
    }
    const size_t length = BigEndian(file, at + 2, 2);
    if (length < 2 || length > file.size() - at - 2) break;
    const Bytes segment = file.subspan(at + 4, length - 2);
    if (file[at + 1] == kApp1 && Begins(segment, kExif)) return OrientationOfTiff(segment.subspan(kExif.size()));
    at += 2 + length;
  }
  return Orientation::kTopLeft;
}

Orientation OrientationOfPng(Bytes file) {
  constexpr size_t kSignature = 8, kAround = 12;  // bytes of a chunk beside its data: length, name and checksum
  for (size_t at = kSignature; at < file.size() && file.size() - at >= kAround;) {
    const size_t length = BigEndian(file, at, 4);
    if (length > file.size() - at - kAround) break;
    if (Begins(file.subspan(at + 4), "eXIf")) return OrientationOfTiff(file.subspan(at + 8, length));
    at += kAround + length;
  }
  return Orientation::kTopLeft;
}

PictureSize Oriented(PictureSize stored, Orientation orientation) {
  return orientation < Orientation::kLeftTop ? stored : PictureSize{stored.width, stored.height};
}

void PlaceRow(Bytes row, int64_t y, PictureSize stored, Orientation orientation, Picture& picture) {
  const int64_t right = stored.width - 1, bottom = stored.height - 1, width = picture.size.width;
  const auto place = [&](int64_t x) {  // of pixel x, counted from the first one shown
    switch (orientation) {
      case Orientation::kTopLeft:
        break;
      case Orientation::kTopRight:
        return y * width + right - x;
      case Orientation::kBottomRight:
        return (bottom - y) * width + right - x;
      case Orientation::kBottomLeft:
        return (bottom - y) * width + x;
      case Orientation::kLeftTop:
        return x * width + y;
      case Orientation::kRightTop:
        return x * width + bottom - y;
      case Orientation::kRightBottom:
        return (right - x) * width + bottom - y;
      case Orientation::kLeftBottom:
        return (right - x) * width + y;
    }
    return y * width + x;
  };
  const int64_t channels = picture.channels, first = place(0), step = stored.width > 1 ? place(1) - first : 0;
  if (step == 1) {
    std::ranges::copy(row, picture.pixels.begin() + first * channels);
    return;
  }
  for (int64_t x = 0; x < stored.width; ++x) {
    std::memcpy(picture.pixels.data() + (first + x * step) * channels, row.data() + x * channels,
                static_cast<size_t>(channels));
  }
}

}  // namespace partita
