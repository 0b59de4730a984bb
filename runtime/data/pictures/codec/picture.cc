#include "runtime/data/pictures/codec/picture.h"

#include <cmath>

#include "runtime/base/memory.h"
#include "runtime/base/status.h"

namespace partita {
namespace {

// Asking how much memory is free takes longer than decoding a small picture.
constexpr int64_t kAlwaysThere = int64_t{32} << 20;

}  // namespace

absl::Status CheckPictureSize(const std::string& name, PictureSize size, int64_t bytes, int64_t budget) {
  if (size.height < 1 || size.width < 1 || size.height > kMostPicturePixels / size.width) {
    return InvalidArgument("{}: found a picture of {} x {} pixels, allowed are 1 to {} pixels", name, size.height,
                           size.width, kMostPicturePixels);
  }
  if (bytes > budget) {
    constexpr double kMiB = 1 << 20;
    return InvalidArgument(
        "{}: found a picture of {} x {} pixels, which takes {:.0f} MiB to decode; expected at most {:.0f} MiB "
        "(scale it down, or raise --decode-memory)",
        name, size.height, size.width, std::ceil(static_cast<double>(bytes) / kMiB),
        static_cast<double>(budget) / kMiB);
  }
  return bytes <= kAlwaysThere ? absl::OkStatus() : CheckMemory(name, bytes);
}

}  // namespace partita
