#include "runtime/data/pictures/codec/picture.h"

#include "runtime/base/memory.h"
#include "runtime/base/status.h"

namespace partita {
namespace {

// Asking how much memory is free takes longer than decoding a small picture.
constexpr int64_t kAlwaysThere = int64_t{32} << 20;

}  // namespace

absl::Status CheckPictureSize(const std::string& name, PictureSize size, int64_t bytes) {
  if (size.height < 1 || size.width < 1 || size.height > kMostPicturePixels / size.width) {
    return InvalidArgument("{}: found a picture of {} x {} pixels, allowed are 1 to {} pixels", name, size.height,
                           size.width, kMostPicturePixels);
  }
  return bytes <= kAlwaysThere ? absl::OkStatus() : CheckMemory(name, bytes);
}

}  // namespace partita
