// A part of a picture at another size: bilinear with antialiasing, as Pillow's BILINEAR.
//
// An output pixel is the mean of the source weighed by a triangle as wide as two source pixels, or two output pixels if
// that is more. The same numbers come out on every machine: weights are multiples of 2^-14 that sum to 1, sums are
// exact, and what is rounded in between keeps 6 bits below a byte's. Pillow rounds to a byte there, so that it may
// differ by 1.
#ifndef PARTITA_RUNTIME_DATA_PICTURES_TRANSFORM_RESAMPLE_H_
#define PARTITA_RUNTIME_DATA_PICTURES_TRANSFORM_RESAMPLE_H_

#include <cstdint>
#include <span>

#include "runtime/data/pictures/codec/picture.h"

namespace partita {

// A rectangle of pixels.
struct Region {
  int64_t top = 0;
  int64_t left = 0;
  PictureSize size;

  bool operator==(const Region&) const = default;
};

// Scales `source`, a part of the picture, to `scaled` pixels and writes the part `window` of the result to `out`, row
// by row, `row_bytes` apart. Pixels of the picture outside `source` do not matter.
void Resample(const Picture& picture, const Region& source, PictureSize scaled, const Region& window, uint8_t* out,
              int64_t row_bytes);

}  // namespace partita

#endif  // PARTITA_RUNTIME_DATA_PICTURES_TRANSFORM_RESAMPLE_H_
