#include "runtime/data/pictures/show_picture.h"

#include <utility>
#include <vector>

#include "runtime/base/status.h"
#include "runtime/data/pictures/codec/decode.h"
#include "runtime/data/pictures/transform/render.h"

namespace partita {
namespace {

// What a thread keeps from one picture to the next: taking and giving back megabytes each time costs as much as
// scaling.
struct Scratch {
  std::vector<uint8_t> file;
  Picture picture;

  // A picture of unusual size is not kept.
  void Trim() {
    constexpr size_t kKept = size_t{64} << 20;
    if (file.capacity() > kKept) file = {};
    if (picture.pixels.capacity() > kKept) picture.pixels = {};
  }
};

absl::Status Decode(const PictureSet& set, const PictureSample& sample, int channels, Scratch& scratch) {
  RETURN_IF_ERROR(ReadPicture(set, sample, scratch.file));
  return DecodePicture(PathOf(set, sample), scratch.file, channels, scratch.picture, set.decode_bytes);
}

Scratch& ThreadScratch() {
  thread_local Scratch scratch;
  return scratch;
}

}  // namespace

absl::Status ShowPicture(const PictureSet& set, const PictureSample& sample, int channels, PictureSize size,
                         std::span<uint8_t> shown, const std::function<View(PictureSize)>& view_of) {
  Scratch& scratch = ThreadScratch();
  const absl::Status status = Decode(set, sample, channels, scratch);
  if (status.ok()) Render(scratch.picture, view_of(scratch.picture.size), size, shown);
  scratch.Trim();
  return status;
}

absl::Status DropDamaged(PictureSet& set, DecodeThreads& threads, BadFiles& bad) {
  std::vector<absl::Status> found(set.samples.size());
  RETURN_IF_ERROR(threads.Run(static_cast<int64_t>(found.size()), [&](int64_t i) {
    const size_t sample = static_cast<size_t>(i);
    found[sample] = Decode(set, set.samples[sample], 1, ThreadScratch());
    ThreadScratch().Trim();
    return absl::OkStatus();
  }));
  return set.Keep(found, bad);
}

}  // namespace partita
