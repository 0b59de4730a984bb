// U-Net (Ronneberger et al. 2015) in the form of the usual PyTorch implementation: convolutions with padding and batch
// norms, four halvings and doublings of the sides, and each size's picture beside what comes back up.
#ifndef PARTITA_TOOLS_MODELS_UNET_H_
#define PARTITA_TOOLS_MODELS_UNET_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "graph/ir/model.h"
#include "graph/ir/op_definition.h"

namespace partita {

// Two classes of pixels, in pictures of three channels: 31,037,698 parameters.
struct UnetOptions {
  int64_t batch = 8;         // pictures, global
  int64_t image_size = 256;  // pixels, square; a multiple of 2^halvings
  int64_t image_channels = 3;
  int64_t classes = 2;
  int64_t channels = 64;  // at full size; each halving has twice those of the one before
  int64_t halvings = 4;
  DType dtype = DType::kF32;
};

// It reads `images` [batch, size, size, channels] and `labels` [batch, size, size], a class for each pixel, minimises
// `loss`, the mean over all pixels, and reports `accuracy`. Parameters: of the two convolutions i of a size
// "down<s>/<i>/ conv/weights" and "down<s>/<i>/batch_norm/...", s from 0 at full size, and "up<s>/<i>/..." on the way
// back; "up<s>/double/weights" [4 channels, 1, 1, inputs], whose first dimension is row, column and channel of a pixel
// of the double size, and "up<s>/bias/values"; "logits/weights" and "logits/bias/values". kInvalidArgument: sizes that
// it cannot have.
absl::StatusOr<Model> MakeUnet(const UnetOptions& options, const OpRegistry& registry);

}  // namespace partita

#endif  // PARTITA_TOOLS_MODELS_UNET_H_
