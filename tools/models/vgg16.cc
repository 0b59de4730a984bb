#include "tools/models/layers.h"

namespace partita {
namespace {

constexpr int kConvolutions[] = {2, 2, 3, 3, 3};  // of each block, behind which the image is halved
constexpr int64_t kChannels[] = {64, 128, 256, 512, 512};

ModelDefaults Defaults() {
  ModelDefaults defaults = ImageNetDefaults();
  defaults.dropout = true;
  defaults.dropout_rate = 0.5;
  return defaults;
}

}  // namespace

absl::StatusOr<Model> MakeVgg16(const ModelOptions& options, const OpRegistry& registry) {
  ModelLayers layers(options, registry, Defaults());
  ValueId x = layers.images();
  for (int block = 0; block < 5; ++block) {
    const std::string name = "block" + std::to_string(block + 1);
    for (int conv = 1; conv <= kConvolutions[block]; ++conv) {
      x = layers.Conv(name + "/conv" + std::to_string(conv), x,
                      {.channels = kChannels[block], .kernel = 3, .padding = 1});
    }
    x = layers.EndOfBlock(name, layers.builder().MaxPool(name + "/pool", x, {.kernel = 2, .stride = 2}));
  }
  x = layers.builder().Flatten("flatten", x);
  x = layers.Dropout("dropout1", layers.Hidden("dense1", x, 4096));
  x = layers.Dropout("dropout2", layers.Hidden("dense2", x, 4096));
  return layers.Finish("vgg-16", x, StaircaseSgd(0.01, 5e-4, options.batch));
}

}  // namespace partita
