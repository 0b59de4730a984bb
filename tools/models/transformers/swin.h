// The Swin transformer (Liu et al. 2021): attention within windows of a picture's patches, whose windows are shifted in
// every second block, and stages that halve the sides and double the channels.
#ifndef PARTITA_TOOLS_MODELS_TRANSFORMERS_SWIN_H_
#define PARTITA_TOOLS_MODELS_TRANSFORMERS_SWIN_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "graph/ir/model.h"
#include "graph/ir/op_definition.h"

namespace partita {

// As Swin-T, and torchvision's swin_t: 28,288,354 parameters.
struct SwinOptions {
  struct Stage {
    int64_t blocks, heads;
  };
  int64_t batch = 64;  // pictures, global
  // Pixels, square: in each stage the patches of a side are a multiple of the window.
  int64_t image_size = 224;
  int64_t image_channels = 3;
  int64_t patch = 4;   // pixels, square
  int64_t window = 7;  // patches, square
  int64_t classes = 1000;
  int64_t width = 96;                                           // channels of the first stage
  std::vector<Stage> stages{{2, 3}, {2, 6}, {6, 12}, {2, 24}};  // heads divide the stage's channels
  double label_smoothing = 0.1;
  DType dtype = DType::kF32;
};

// It reads `images` [batch, size, size, channels] and `labels` [batch], minimises `loss` and reports `accuracy`.
// Parameters: "patches/weights", "patches/bias/values" and "patches/norm/gain", ".../offset"; of block b of stage s
// "stage<s>/<b>/norm1/...", ".../query/weights" and ".../query/bias/values", ".../key/...", ".../value/...",
// ".../output/...", ".../positions/table" [(2 window - 1)^2, heads], ".../norm2/...", ".../up/..." and ".../down/...";
// before stage s from 2 "stage<s>/merge/norm/..." and "stage<s>/merge/weights"; "norm/...", "logits/...". It has no
// stochastic depth, unlike torchvision's. kInvalidArgument: sizes that it cannot have.
absl::StatusOr<Model> MakeSwin(const SwinOptions& options, const OpRegistry& registry);

}  // namespace partita

#endif  // PARTITA_TOOLS_MODELS_TRANSFORMERS_SWIN_H_
