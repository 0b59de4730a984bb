// From a sample of a set to what a batch shows of it.
#ifndef PARTITA_RUNTIME_DATA_PICTURES_SHOW_PICTURE_H_
#define PARTITA_RUNTIME_DATA_PICTURES_SHOW_PICTURE_H_

#include <cstdint>
#include <functional>
#include <span>

#include "absl/status/status.h"
#include "runtime/data/pictures/decode_threads.h"
#include "runtime/data/pictures/picture_set.h"
#include "runtime/data/pictures/transform/view.h"

namespace partita {

// Reads and decodes the picture in `channels` and draws the view that `view_of` its size is to `shown`, of `size`.
absl::Status ShowPicture(const PictureSet& set, const PictureSample& sample, int channels, PictureSize size,
                         std::span<uint8_t> shown, const std::function<View(PictureSize)>& view_of);

// Decodes every picture of a set and takes those out that are bad.
absl::Status DropDamaged(PictureSet& set, DecodeThreads& threads, BadFiles& bad);

}  // namespace partita

#endif  // PARTITA_RUNTIME_DATA_PICTURES_SHOW_PICTURE_H_
