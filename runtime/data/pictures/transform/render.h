// Draws a view of a picture.
#ifndef PARTITA_RUNTIME_DATA_PICTURES_TRANSFORM_RENDER_H_
#define PARTITA_RUNTIME_DATA_PICTURES_TRANSFORM_RENDER_H_

#include <cstdint>
#include <span>

#include "runtime/data/pictures/codec/picture.h"
#include "runtime/data/pictures/transform/view.h"

namespace partita {

// `out` [size.height, size.width, picture.channels]: scaled, then coloured, then mirrored. What lies outside the
// picture is black before it is coloured.
void Render(const Picture& picture, const View& view, PictureSize size, std::span<uint8_t> out);

}  // namespace partita

#endif  // PARTITA_RUNTIME_DATA_PICTURES_TRANSFORM_RENDER_H_
