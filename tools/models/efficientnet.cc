#include <algorithm>
#include <utility>

#include "tools/models/layers.h"

namespace partita {
namespace {

constexpr int64_t kStem = 32, kLast = 1280;
constexpr char kSilu[] = "silu";

// So many inverted bottlenecks, the first with the stride: 1x1 to `expansion` times the channels, depthwise
// kernel x kernel, 1x1 to `channels`.
struct Stage {
  int64_t expansion, kernel, stride, channels, blocks;
};
constexpr Stage kStages[] = {{1, 3, 1, 16, 1},  {6, 3, 2, 24, 2},  {6, 5, 2, 40, 2}, {6, 3, 2, 80, 3},
                             {6, 5, 1, 112, 3}, {6, 5, 2, 192, 4}, {6, 3, 1, 320, 1}};

ModelDefaults Defaults() {
  ModelDefaults defaults = ImageNetDefaults();
  defaults.batch_norm = true;
  defaults.epsilon = 1e-5;
  defaults.dropout = true;
  defaults.divisor = 8;
  return defaults;
}

// The authors', for their batch of 4096.
Recipe RmsProp(int64_t batch) {
  Recipe recipe;
  recipe.optimizer = {"rmsprop", {{"decay", 0.9}, {"momentum", 0.9}, {"epsilon", 1e-3}, {"weight_decay", 1e-5}}};
  recipe.rate.schedule = "step";
  recipe.rate.base = 0.256 * static_cast<double>(batch) / 4096;
  recipe.rate.decay = 0.97;
  recipe.rate.decay_steps = std::max<int64_t>(1, StepsOfImageNet(12, batch) / 5);  // 2.4 epochs
  return recipe;
}

// `x` has `from` channels in the model's own width; a block that keeps them and the image's size has a residual.
ValueId Bottleneck(ModelLayers& layers, const std::string& name, ValueId x, int64_t from, const Stage& stage,
                   int64_t stride) {
  ValueId y = x;
  if (stage.expansion != 1) {
    y = layers.Conv(name + "/expand", y, {.channels = stage.expansion * from, .kernel = 1}, kSilu);
  }
  y = layers.Depthwise(name + "/depthwise", y, {.kernel = stage.kernel, .stride = stride, .padding = stage.kernel / 2},
                       kSilu);
  y = layers.SqueezeExcite(name, y, std::max<int64_t>(1, layers.Channels(x) / 4), kSilu, "sigmoid");
  y = layers.Conv(name + "/project", y, {.channels = stage.channels, .kernel = 1}, "");
  const bool residual = stride == 1 && stage.channels == from;
  return residual ? layers.builder().Add(name + "/sum", "add", {y, x}) : y;
}

}  // namespace

absl::StatusOr<Model> MakeEfficientNetB0(const ModelOptions& options, const OpRegistry& registry) {
  ModelLayers layers(options, registry, Defaults());
  ValueId x = layers.Conv("stem", layers.images(), {.channels = kStem, .kernel = 3, .stride = 2, .padding = 1}, kSilu);
  int64_t channels = kStem, number = 0;
  for (const Stage& stage : kStages) {
    const std::string name = "stage" + std::to_string(++number);
    for (int64_t block = 0; block < stage.blocks; ++block) {
      x = Bottleneck(layers, name + "/" + std::string(1, static_cast<char>('a' + block)), x,
                     std::exchange(channels, stage.channels), stage, block == 0 ? stage.stride : 1);
    }
    if (number < 7) x = layers.EndOfBlock(name, x);
  }
  x = layers.Conv("last", x, {.channels = kLast, .kernel = 1}, kSilu);
  x = layers.Dropout("dropout", layers.builder().GlobalAveragePool("global_pool", x));
  return layers.Finish("efficientnet-b0", x, RmsProp(options.batch));
}

}  // namespace partita
