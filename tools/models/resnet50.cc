#include "tools/models/layers.h"

namespace partita {
namespace {

constexpr int kBlocks[] = {3, 4, 6, 3};  // of each stage

ModelDefaults Defaults() {
  ModelDefaults defaults = ImageNetDefaults();
  defaults.batch_norm = true;
  defaults.epsilon = 1e-5;
  return defaults;
}

// 1x1, 3x3, 1x1 to four times the channels, and what goes around them: `x`, or its projection where the sizes differ.
ValueId Bottleneck(ModelLayers& layers, const std::string& block, ValueId x, int64_t channels, int64_t stride,
                   bool project) {
  ValueId y = layers.Conv(block + "/1_1x1", x, {.channels = channels, .kernel = 1});
  y = layers.Conv(block + "/2_3x3", y, {.channels = channels, .kernel = 3, .stride = stride, .padding = 1});
  y = layers.Conv(block + "/3_1x1", y, {.channels = 4 * channels, .kernel = 1}, "");
  if (project) {
    x = layers.Conv(block + "/around", x, {.channels = 4 * channels, .kernel = 1, .stride = stride}, "");
  }
  return layers.builder().Relu(block + "/relu", layers.builder().Add(block + "/sum", "add", {y, x}));
}

}  // namespace

absl::StatusOr<Model> MakeResNet50(const ModelOptions& options, const OpRegistry& registry) {
  ModelLayers layers(options, registry, Defaults());
  GraphBuilder& b = layers.builder();
  ValueId x = layers.Conv("stem", layers.images(), {.channels = 64, .kernel = 7, .stride = 2, .padding = 3});
  x = b.MaxPool("stem_pool", x, {.kernel = 3, .stride = 2, .padding = 1});
  for (int stage = 0; stage < 4; ++stage) {
    for (int block = 0; block < kBlocks[stage]; ++block) {
      const std::string name =
          "stage" + std::to_string(stage + 1) + "/" + std::string(1, static_cast<char>('a' + block));
      const int64_t stride = stage > 0 && block == 0 ? 2 : 1;
      x = Bottleneck(layers, name, x, int64_t{64} << stage, stride, /*project=*/block == 0);
    }
    if (stage < 3) x = layers.EndOfBlock("stage" + std::to_string(stage + 1), x);
  }
  x = layers.Dropout("dropout", b.GlobalAveragePool("global_pool", x));
  return layers.Finish("resnet-50", x, StaircaseSgd(0.1, 1e-4, options.batch));
}

}  // namespace partita
