#include "tools/models/layers.h"

namespace partita {

absl::StatusOr<Model> MakeLeNet5(const ModelOptions& options, const OpRegistry& registry) {
  ModelLayers layers(options, registry, {});
  GraphBuilder& b = layers.builder();
  ValueId x = layers.Conv("conv1", layers.images(), {.channels = 6, .kernel = 5, .padding = 2});
  x = layers.EndOfBlock("conv1", b.MaxPool("pool1", x, {.kernel = 2, .stride = 2}));
  x = layers.Conv("conv2", x, {.channels = 16, .kernel = 5});
  x = layers.EndOfBlock("conv2", b.MaxPool("pool2", x, {.kernel = 2, .stride = 2}));
  x = b.Flatten("flatten", x);
  x = layers.Hidden("dense1", x, 120);
  x = layers.Hidden("dense2", x, 84);
  x = layers.Dropout("dropout", x);
  return layers.Finish("lenet5", x);
}

}  // namespace partita
