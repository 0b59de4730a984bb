// The vision transformer (Dosovitskiy et al. 2021): a picture as patches, a token for its class before them, positions,
// and blocks of attention over all patches and a layer of four times the width, each behind a layer norm.
#ifndef PARTITA_TOOLS_MODELS_TRANSFORMERS_VIT_H_
#define PARTITA_TOOLS_MODELS_TRANSFORMERS_VIT_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "graph/ir/model.h"
#include "graph/ir/op_definition.h"

namespace partita {

// As ViT-B/16, and torchvision's vit_b_16: 86,567,656 parameters.
struct VitOptions {
  int64_t batch = 64;        // pictures, global
  int64_t image_size = 224;  // pixels, square; a multiple of the patch
  int64_t image_channels = 3;
  int64_t patch = 16;  // pixels, square
  int64_t classes = 1000;
  int64_t width = 768;
  int64_t heads = 12;  // divides the width
  int64_t layers = 12;
  double dropout_rate = 0;  // behind the positions and each branch; 0: none. Attention has none of its own.
  double label_smoothing = 0.11;
  DType dtype = DType::kF32;
};

// It reads `images` [batch, size, size, channels] and `labels` [batch], minimises `loss` and reports `accuracy`.
// Parameters: "patches/conv/weights" and "patches/bias/values", "class/token" [1, width], "positions/table"
// [patches + 1, width], the class first; of block i from 1 those of GPT-2 (tools/models/transformers/gpt2.h);
// "norm/gain", "norm/offset", "logits/weights" and "logits/bias/values". kInvalidArgument: sizes that it cannot have.
absl::StatusOr<Model> MakeVit(const VitOptions& options, const OpRegistry& registry);

}  // namespace partita

#endif  // PARTITA_TOOLS_MODELS_TRANSFORMERS_VIT_H_
