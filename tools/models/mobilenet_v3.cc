#include <utility>

#include "tools/models/layers.h"

namespace partita {
namespace {

constexpr int64_t kStem = 16, kLast = 960, kHidden = 1280;

// An inverted bottleneck: 1x1 to `expanded` channels, depthwise kernel x kernel, 1x1 to `channels`.
struct Block {
  int64_t kernel, expanded, channels;
  bool squeezes;
  const char* activation;
  int64_t stride;
};
constexpr char kRelu[] = "relu", kSwish[] = "hard_swish";
constexpr Block kBlocks[] = {
    {3, 16, 16, false, kRelu, 1},   {3, 64, 24, false, kRelu, 2},   {3, 72, 24, false, kRelu, 1},
    {5, 72, 40, true, kRelu, 2},    {5, 120, 40, true, kRelu, 1},   {5, 120, 40, true, kRelu, 1},
    {3, 240, 80, false, kSwish, 2}, {3, 200, 80, false, kSwish, 1}, {3, 184, 80, false, kSwish, 1},
    {3, 184, 80, false, kSwish, 1}, {3, 480, 112, true, kSwish, 1}, {3, 672, 112, true, kSwish, 1},
    {5, 672, 160, true, kSwish, 2}, {5, 960, 160, true, kSwish, 1}, {5, 960, 160, true, kSwish, 1},
};

ModelDefaults Defaults() {
  ModelDefaults defaults = ImageNetDefaults();
  defaults.batch_norm = true;
  defaults.momentum = 0.01;
  defaults.dropout = true;
  defaults.divisor = 8;
  return defaults;
}

// That of torchvision's weights, for their batch of 1024.
Recipe RmsProp(int64_t batch) {
  Recipe recipe;
  recipe.optimizer = {"rmsprop_torch",
                      {{"alpha", 0.9}, {"momentum", 0.9}, {"epsilon", 0.0316}, {"weight_decay", 1e-5}}};
  recipe.rate.schedule = "step";
  recipe.rate.base = 0.064 * static_cast<double>(batch) / 1024;
  recipe.rate.decay = 0.973;
  recipe.rate.decay_steps = StepsOfImageNet(2, batch);
  return recipe;
}

int64_t Squeezed(const ModelLayers& layers, ValueId x) {
  return DivisibleChannels(static_cast<double>(layers.Channels(x) / 4), 8);
}

// `x` has `from` channels in the model's own width; a block that keeps them and the image's size has a residual.
ValueId Bottleneck(ModelLayers& layers, const std::string& name, ValueId x, int64_t from, const Block& block) {
  ValueId y = x;
  if (block.expanded != from) {
    y = layers.Conv(name + "/expand", y, {.channels = block.expanded, .kernel = 1}, block.activation);
  }
  y = layers.Depthwise(name + "/depthwise", y,
                       {.kernel = block.kernel, .stride = block.stride, .padding = block.kernel / 2}, block.activation);
  if (block.squeezes) y = layers.SqueezeExcite(name, y, Squeezed(layers, y), kRelu, "hard_sigmoid");
  y = layers.Conv(name + "/project", y, {.channels = block.channels, .kernel = 1}, "");
  const bool residual = block.stride == 1 && block.channels == from;
  return residual ? layers.builder().Add(name + "/sum", "add", {y, x}) : y;
}

}  // namespace

absl::StatusOr<Model> MakeMobileNetV3Large(const ModelOptions& options, const OpRegistry& registry) {
  ModelLayers layers(options, registry, Defaults());
  GraphBuilder& b = layers.builder();
  ValueId x = layers.Conv("stem", layers.images(), {.channels = kStem, .kernel = 3, .stride = 2, .padding = 1}, kSwish);
  int64_t channels = kStem, number = 0;
  for (const Block& block : kBlocks) {
    if (block.stride == 2) x = layers.EndOfBlock("block" + std::to_string(number), x);
    const std::string name = "block" + std::to_string(++number);
    x = Bottleneck(layers, name, x, std::exchange(channels, block.channels), block);
  }
  x = layers.Conv("last", x, {.channels = kLast, .kernel = 1}, kSwish);
  x = layers.Dense("dense", b.GlobalAveragePool("global_pool", x), kHidden, kSwish);
  return layers.Finish("mobilenet-v3-large", layers.Dropout("dropout", x), RmsProp(options.batch));
}

}  // namespace partita
