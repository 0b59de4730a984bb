// Random shift and horizontal flip of training images.
//
// What happens to a sample depends on (seed, epoch, sample index) alone, so it is the same on whichever rank it lands.
#ifndef PARTITA_RUNTIME_DATA_AUGMENTATION_H_
#define PARTITA_RUNTIME_DATA_AUGMENTATION_H_

#include <cstdint>

namespace partita {

// What a pixel shows that a shift brings in from outside the image.
enum class Border { kZero, kEdge };  // the byte 0 (black) | the nearest pixel of the image

struct Augmentation {
  int64_t shift = 0;  // pixels, up to this many in each of the four directions; 0: none
  Border border = Border::kZero;
  bool flip = false;  // mirror left and right with probability 1/2
};

// What is done to one sample: output (y, x) shows input (y - dy, x - dx), mirrored in x afterwards if `flip`.
struct Transform {
  int64_t dy = 0;
  int64_t dx = 0;
  bool flip = false;
};

// `key` is PhiloxKey(seed, kAugmentationName). Shifts are uniform in [-shift, shift].
inline constexpr char kAugmentationName[] = "augmentation";
Transform DrawTransform(const Augmentation& augmentation, uint64_t key, int64_t epoch, int64_t sample);

}  // namespace partita

#endif  // PARTITA_RUNTIME_DATA_AUGMENTATION_H_
