// Brightness, contrast and saturation of a picture times factors, one after the other, as torchvision's ColorJitter
// with its order held fixed.
#ifndef PARTITA_RUNTIME_DATA_PICTURES_TRANSFORM_COLOUR_H_
#define PARTITA_RUNTIME_DATA_PICTURES_TRANSFORM_COLOUR_H_

#include <cstdint>
#include <span>

namespace partita {

struct ColourFactors {
  double brightness = 1;  // distance from black
  double contrast = 1;    // from the picture's mean luma, rounded
  double saturation = 1;  // from the pixel's own luma; of grey pictures nothing changes

  bool operator==(const ColourFactors&) const = default;
};

// `pixels` of 1 or 3 channels. After each of the three a byte is rounded, and cut off at 0 and 255.
void AdjustColour(const ColourFactors& factors, int64_t channels, std::span<uint8_t> pixels);

}  // namespace partita

#endif  // PARTITA_RUNTIME_DATA_PICTURES_TRANSFORM_COLOUR_H_
