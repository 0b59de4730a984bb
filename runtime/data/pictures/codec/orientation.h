// The orientation of a picture as Exif records it: a decoded picture is turned to how a viewer shows it.
#ifndef PARTITA_RUNTIME_DATA_PICTURES_CODEC_ORIENTATION_H_
#define PARTITA_RUNTIME_DATA_PICTURES_CODEC_ORIENTATION_H_

#include <cstdint>
#include <span>

#include "runtime/data/pictures/codec/picture.h"

namespace partita {

// The values of Exif's tag 0x0112: which edges of the shown picture the first row and column of the stored one are.
enum class Orientation : uint8_t {
  kTopLeft = 1,  // as stored
  kTopRight,
  kBottomRight,
  kBottomLeft,
  kLeftTop,  // from here on rows become columns
  kRightTop,
  kRightBottom,
  kLeftBottom,
};

// From the bytes of a whole file. kTopLeft where it notes none, or none that can be read.
Orientation OrientationOfJpeg(std::span<const uint8_t> file);  // the first APP1 segment with Exif
Orientation OrientationOfPng(std::span<const uint8_t> file);   // the first chunk eXIf

// The size of what is shown.
PictureSize Oriented(PictureSize stored, Orientation orientation);

// Writes row `y` of the stored picture to where it is shown. `picture` has the size of what is shown.
void PlaceRow(std::span<const uint8_t> row, int64_t y, PictureSize stored, Orientation orientation, Picture& picture);

}  // namespace partita

#endif  // PARTITA_RUNTIME_DATA_PICTURES_CODEC_ORIENTATION_H_
