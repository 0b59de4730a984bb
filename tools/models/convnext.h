// ConvNeXt (Liu et al. 2022): blocks of a depthwise 7 x 7 convolution, a layer norm and two dense layers of each pixel,
// scaled by channel and beside a residual.
#ifndef PARTITA_TOOLS_MODELS_CONVNEXT_H_
#define PARTITA_TOOLS_MODELS_CONVNEXT_H_

#include <array>
#include <cstdint>

#include "absl/status/statusor.h"
#include "graph/ir/model.h"
#include "graph/ir/op_definition.h"

namespace partita {

// ConvNeXt-T: 28,589,128 parameters.
struct ConvNextOptions {
  int64_t batch = 64;  // global
  int64_t image_size = 224;
  int64_t image_channels = 3;
  int64_t classes = 1000;
  int64_t channels = 96;                      // of the first stage; each has twice those of the one before
  std::array<int64_t, 4> blocks{3, 3, 9, 3};  // of each stage
  double label_smoothing = 0.1;
  DType dtype = DType::kF32;
};

// It reads `images` [batch, image_size, image_size, image_channels] and `labels` [batch], minimises `loss` and reports
// `accuracy`. Parameters: "stem/conv/weights", "stem/bias/values", "stem/norm/gain" and ".../offset"; of block b of
// stage s "stages/b/depthwise/conv/weights", ".../depthwise/bias/values", ".../norm/...", ".../up/...", ".../down/..."
// and
// ".../scale"; before stage s "stages/down/..."; "norm/...", "classifier/...". It has no stochastic depth, unlike
// the authors'. kInvalidArgument: sizes that it cannot have.
absl::StatusOr<Model> MakeConvNext(const ConvNextOptions& options, const OpRegistry& registry);

}  // namespace partita

#endif  // PARTITA_TOOLS_MODELS_CONVNEXT_H_
