#include "tools/models/layers.h"

namespace partita {

absl::StatusOr<Model> MakeMlp(const ModelOptions& options, const OpRegistry& registry) {
  ModelLayers layers(options, registry, {});
  ValueId x = layers.builder().Flatten("flatten", layers.images());
  x = layers.EndOfBlock("dense1", layers.Hidden("dense1", x, 256));
  x = layers.Hidden("dense2", x, 128);
  x = layers.Dropout("dropout", x);
  return layers.Finish("mlp", x);
}

}  // namespace partita
