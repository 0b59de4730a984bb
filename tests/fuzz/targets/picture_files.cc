// Pictures, and archives of them.
#include <cstddef>
#include <numeric>
#include <string_view>

#include "runtime/data/pictures/codec/decode.h"
#include "runtime/data/pictures/tar_index.h"
#include "tests/fuzz/targets/input_path.h"
#include "tests/fuzz/targets/promise.h"
#include "tests/fuzz/targets/targets.h"

namespace partita {
namespace {

constexpr char kName[] = "input";
constexpr size_t kBlock = 512, kChecksum = 148, kChecksumSize = 8, kMagic = 257;

// An archive's headers with the sums that they should have, so that what they say is believed.
std::string WithSums(std::string bytes) {
  for (size_t at = 0; at + kBlock <= bytes.size(); at += kBlock) {
    if (std::string_view(bytes).substr(at + kMagic, 5) != "ustar") continue;
    bytes.replace(at + kChecksum, kChecksumSize, kChecksumSize, ' ');
    const unsigned sum = std::accumulate(bytes.begin() + static_cast<std::ptrdiff_t>(at),
                                         bytes.begin() + static_cast<std::ptrdiff_t>(at + kBlock), 0U,
                                         [](unsigned total, char byte) { return total + static_cast<uint8_t>(byte); });
    for (size_t digit = 0; digit < 6; ++digit) {
      bytes[at + kChecksum + digit] = static_cast<char>('0' + (sum >> 3 * (5 - digit) & 7));
    }
    bytes[at + kChecksum + 6] = '\0';
  }
  return bytes;
}

}  // namespace

void FeedTar(const std::string& bytes) {
  const absl::StatusOr<std::vector<TarEntry>> entries = ReadTarIndex(AsFile(".tar", WithSums(bytes)));
  if (!entries.ok()) return PromiseRefusal(entries.status());
  const auto size = static_cast<int64_t>(bytes.size());
  for (const TarEntry& entry : *entries) {
    Promise(entry.offset >= 0 && entry.size >= 0 && entry.offset <= size && entry.size <= size - entry.offset,
            "an entry outside of the archive: " + entry.name);
  }
}

void FeedPicture(const std::string& bytes) {
  const std::span<const uint8_t> picture(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size());
  const absl::StatusOr<PictureHead> head = ReadPictureHead(kName, picture);
  if (!head.ok()) PromiseRefusal(head.status());
  for (const int channels : {1, 3}) {
    Picture decoded;
    const absl::Status status = DecodePicture(kName, picture, channels, decoded);
    if (!status.ok()) {
      PromiseRefusal(status);
      continue;
    }
    const PictureSize turned = {decoded.size.width, decoded.size.height};  // as Exif may say
    const PictureSize stored = head.ok() ? head->size.value_or(decoded.size) : PictureSize();
    Promise(stored == decoded.size || stored == turned, "a picture of another size than its head's");
    Promise(decoded.size.pixels() > 0 &&
                static_cast<int64_t>(decoded.pixels.size()) >= decoded.size.pixels() * decoded.channels,
            "a picture without all its pixels");
  }
}

}  // namespace partita
