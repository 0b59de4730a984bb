#include "tools/models/layers.h"

namespace partita {

absl::StatusOr<Model> MakeMlp(const ModelOptions& options, const OpRegistry& registry) {
  ModelLayers layers(options, registry, /*batch_norm=*/false, /*dropout=*/false);
  ValueId x = layers.builder().Flatten("flatten", layers.images());
  x = layers.Hidden("dense1", x, 256);
  x = layers.Hidden("dense2", x, 128);
  x = layers.Dropout("dropout", x, 0.2);
  return layers.Finish("mlp", x, /*label_smoothing=*/0);
}

}  // namespace partita
