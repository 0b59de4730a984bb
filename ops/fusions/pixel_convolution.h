// Convolutions whose windows are single pixels: what they make of a pixel depends on that pixel alone.
#ifndef PARTITA_OPS_FUSIONS_PIXEL_CONVOLUTION_H_
#define PARTITA_OPS_FUSIONS_PIXEL_CONVOLUTION_H_

#include <algorithm>

#include "graph/value/attributes.h"
#include "graph/value/shape.h"

namespace partita {

// Of a convolution or one of its gradients, with filters `w`: whether it has an output for each pixel, made of all
// channels of that pixel.
inline bool IsOfPixels(const Attributes& attributes, const Shape& w) {
  const IntList& padding = attributes.Ints("padding");
  const bool padded = std::ranges::any_of(padding, [](int64_t pixels) { return pixels != 0; });
  return w[1] == 1 && w[2] == 1 && !padded && attributes.Ints("stride") == IntList{1, 1} &&
         attributes.Int("groups") == 1;
}

}  // namespace partita

#endif  // PARTITA_OPS_FUSIONS_PIXEL_CONVOLUTION_H_
