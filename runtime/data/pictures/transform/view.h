// The part of a picture that a batch shows: its center for an evaluation, a random part for training.
//
// A View depends on the options, the picture's size and (seed, epoch, sample) alone: not on the rank that asks, on
// threads or on what was asked before. It uses no functions whose last bits differ between machines.
#ifndef PARTITA_RUNTIME_DATA_PICTURES_TRANSFORM_VIEW_H_
#define PARTITA_RUNTIME_DATA_PICTURES_TRANSFORM_VIEW_H_

#include <cstdint>

#include "runtime/data/pictures/codec/picture.h"
#include "runtime/data/pictures/transform/colour.h"
#include "runtime/data/pictures/transform/resample.h"

namespace partita {

struct ViewOptions {
  PictureSize size;  // of what is shown

  // The picture is scaled with its aspect ratio until its shorter side has this number of pixels (for a square `size`;
  // else until it covers `size` times the same factor), and its center is shown. 0: as the shorter side of `size`.
  int64_t resize = 0;

  // For training. Above 0: in place of the middle a random part of at least this share of the area, at most all of it,
  // whose aspect is between 3/4 and 4/3, is scaled to `size` (torchvision's RandomResizedCrop). 0: the middle, moved.
  double least_area = 0;
  int64_t shift = 0;  // largest shift of the center in each direction, in pixels; outside of the picture is black
  bool flip = false;  // mirrored left and right with probability 1/2
  double colour = 0;  // brightness, contrast and saturation times random factors in [1 - colour, 1 + colour]
};

struct View {
  Region source;  // of the picture; it becomes `scaled`
  PictureSize scaled;
  int64_t top = 0;  // where in `scaled` what is shown begins: it may reach beyond
  int64_t left = 0;
  bool flip = false;
  ColourFactors colour;

  bool operator==(const View&) const = default;
};

View MiddleView(const ViewOptions& options, PictureSize picture);

// `key` is PhiloxKey(seed, kPictureViewName).
inline constexpr char kPictureViewName[] = "picture view";
View DrawView(const ViewOptions& options, uint64_t key, int64_t epoch, int64_t sample, PictureSize picture);

}  // namespace partita

#endif  // PARTITA_RUNTIME_DATA_PICTURES_TRANSFORM_VIEW_H_
