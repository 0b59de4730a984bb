// Szegedy et al. 2016, "Rethinking the Inception architecture", as TensorFlow's slim and torchvision have it. Branch k
// of a block has names "<block>/k_...", what it ends with goes into "<block>/concat".
#include <algorithm>

#include "tools/models/layers.h"

namespace partita {
namespace {

constexpr double kAuxiliaryWeight = 0.4;

class Network {
 public:
  Network(const ModelOptions& options, ModelLayers& layers) : options_(options), layers_(layers) {}

  ValueId Stem(ValueId x) {
    block_ = "stem";
    x = Valid("conv1", x, 32, 3, 2);
    x = Valid("conv2", x, 32, 3);
    x = Same("conv3", x, 64, 3);
    x = HalvingPool("pool1", x);
    x = Valid("conv4", x, 80, 1);
    x = Valid("conv5", x, 192, 3);
    return HalvingPool("pool2", x);
  }

  // 1x1 // 1x1, 5x5 // 1x1, 3x3, 3x3 // average pool, 1x1.
  ValueId BlockA(const std::string& block, ValueId x, int64_t pool) {
    block_ = block;
    const ValueId branch1 = Same("1_1x1", x, 64, 1);
    const ValueId branch2 = Same("2_5x5", Same("2_1x1", x, 48, 1), 64, 5);
    ValueId branch3 = Same("3_3x3a", Same("3_1x1", x, 64, 1), 96, 3);
    branch3 = Same("3_3x3b", branch3, 96, 3);
    return Concat("concat", {branch1, branch2, branch3, Same("4_1x1", Average("4_pool", x), pool, 1)});
  }

  // Halves the image: 3x3 // 1x1, 3x3, 3x3 // maximum pool.
  ValueId BlockB(const std::string& block, ValueId x) {
    block_ = block;
    const ValueId branch1 = Valid("1_3x3", x, 384, 3, 2);
    ValueId branch2 = Same("2_3x3a", Same("2_1x1", x, 64, 1), 96, 3);
    branch2 = Valid("2_3x3b", branch2, 96, 3, 2);
    return Concat("concat", {branch1, branch2, HalvingPool("3_pool", x)});
  }

  // 1x1 // 1x1, 1x7, 7x1 // 1x1, 7x1, 1x7, 7x1, 1x7 // average pool, 1x1.
  ValueId BlockC(const std::string& block, ValueId x, int64_t channels) {
    block_ = block;
    const ValueId branch1 = Same("1_1x1", x, 192, 1);
    ValueId branch2 = Same("2_1x7", Same("2_1x1", x, channels, 1), channels, {1, 7});
    branch2 = Same("2_7x1", branch2, 192, {7, 1});
    ValueId branch3 = Same("3_7x1a", Same("3_1x1", x, channels, 1), channels, {7, 1});
    branch3 = Same("3_7x1b", Same("3_1x7a", branch3, channels, {1, 7}), channels, {7, 1});
    branch3 = Same("3_1x7b", branch3, 192, {1, 7});
    return Concat("concat", {branch1, branch2, branch3, Same("4_1x1", Average("4_pool", x), 192, 1)});
  }

  // Halves the image: 1x1, 3x3 // 1x1, 1x7, 7x1, 3x3 // maximum pool.
  ValueId BlockD(const std::string& block, ValueId x) {
    block_ = block;
    const ValueId branch1 = Valid("1_3x3", Same("1_1x1", x, 192, 1), 320, 3, 2);
    ValueId branch2 = Same("2_1x7", Same("2_1x1", x, 192, 1), 192, {1, 7});
    branch2 = Valid("2_3x3", Same("2_7x1", branch2, 192, {7, 1}), 192, 3, 2);
    return Concat("concat", {branch1, branch2, HalvingPool("3_pool", x)});
  }

  // 1x1 // 1x1, (1x3 // 3x1) // 1x1, 3x3, (1x3 // 3x1) // pool, 1x1.
  ValueId BlockE(const std::string& block, ValueId x, bool max_pool) {
    block_ = block;
    const ValueId branch1 = Same("1_1x1", x, 320, 1);
    const ValueId branch2 = BothWays("2", Same("2_1x1", x, 384, 1));
    const ValueId branch3 = BothWays("3", Same("3_3x3", Same("3_1x1", x, 448, 1), 384, 3));
    const ValueId pooled =
        max_pool ? layers_.builder().MaxPool(Named("4_pool"), x, {.kernel = 3, .padding = 1}) : Average("4_pool", x);
    return Concat("concat", {branch1, branch2, branch3, Same("4_1x1", pooled, 192, 1)});
  }

  // On 17 x 17 pixels its windows are 5 x 5; on smaller images at most what is there.
  void AuxiliaryHead(ValueId x) {
    block_ = "auxiliary";
    x = layers_.builder().AveragePool(Named("pool"), x, {.kernel = AtMost(5, x), .stride = 3});
    x = Valid("1x1", x, 128, 1);
    x = Valid("5x5", x, 768, AtMost(5, x));
    layers_.FurtherLoss(block_, layers_.builder().GlobalAveragePool(Named("global_pool"), x), kAuxiliaryWeight);
  }

 private:
  std::string Named(const std::string& name) const { return block_ + "/" + name; }

  ValueId Valid(const std::string& name, ValueId x, int64_t channels, Sides kernel, int64_t stride = 1) {
    return layers_.Conv(Named(name), x, {.channels = channels, .kernel = kernel, .stride = stride});
  }
  ValueId Same(const std::string& name, ValueId x, int64_t channels, Sides kernel) {
    const Sides padding(kernel.height / 2, kernel.width / 2);
    return layers_.Conv(Named(name), x, {.channels = channels, .kernel = kernel, .padding = padding});
  }
  ValueId BothWays(const std::string& branch, ValueId x) {
    return Concat(branch + "_concat", {Same(branch + "_1x3", x, 384, {1, 3}), Same(branch + "_3x1", x, 384, {3, 1})});
  }
  ValueId HalvingPool(const std::string& name, ValueId x) {
    return layers_.builder().MaxPool(Named(name), x, {.kernel = 3, .stride = 2});
  }
  ValueId Average(const std::string& name, ValueId x) {
    return layers_.builder().AveragePool(Named(name), x,
                                         {.kernel = 3, .padding = 1, .count_padding = options_.count_padding});
  }
  ValueId Concat(const std::string& name, const std::vector<ValueId>& parts) {
    return layers_.builder().Concat(Named(name), parts, 3);
  }
  int64_t AtMost(int64_t kernel, ValueId x) const {
    const GraphBuilder& b = layers_.builder();
    return b.status().ok() ? std::min(kernel, b.type(x).shape[1]) : kernel;
  }

  const ModelOptions& options_;
  ModelLayers& layers_;
  std::string block_;
};

// That of TensorFlow's TPU models, but for their moving averages, which are ModelOptions::average: 0.995 there.
Recipe RmsPropRecipe(int64_t batch) {
  Recipe recipe;
  recipe.optimizer = {"rmsprop", {{"decay", 0.9}, {"momentum", 0.9}, {"epsilon", 1.0}}};
  recipe.rate.schedule = "step";
  recipe.rate.base = 0.165 * static_cast<double>(batch) / 256;
  recipe.rate.decay = 0.94;
  recipe.rate.decay_steps = StepsOfImageNet(3, batch);
  recipe.rate.final = 1e-4 * recipe.rate.base;
  return recipe;
}

ModelDefaults Defaults() {
  ModelDefaults defaults = ImageNetDefaults();
  defaults.image_size = 299;
  defaults.batch_norm = true;
  defaults.momentum = 0.004;
  defaults.dropout = true;
  defaults.label_smoothing = 0.1;
  return defaults;
}

}  // namespace

absl::StatusOr<Model> MakeInceptionV3(const ModelOptions& options, const OpRegistry& registry) {
  ModelLayers layers(options, registry, Defaults());
  Network network(options, layers);
  ValueId x = layers.EndOfBlock("stem", network.Stem(layers.images()));
  x = network.BlockA("mixed_5b", x, 32);
  x = network.BlockA("mixed_5c", x, 64);
  x = network.BlockA("mixed_5d", x, 64);
  x = layers.EndOfBlock("mixed_6a", network.BlockB("mixed_6a", x));
  x = network.BlockC("mixed_6b", x, 128);
  x = network.BlockC("mixed_6c", x, 160);
  x = layers.EndOfBlock("mixed_6d", network.BlockC("mixed_6d", x, 160));
  x = network.BlockC("mixed_6e", x, 192);
  if (options.auxiliary_head) network.AuxiliaryHead(x);
  x = network.BlockD("mixed_7a", x);
  x = network.BlockE("mixed_7b", x, /*max_pool=*/false);
  x = network.BlockE("mixed_7c", x, options.last_pool_is_max);
  x = layers.Dropout("dropout", layers.builder().GlobalAveragePool("global_pool", x));
  return layers.Finish("inception-v3", x, RmsPropRecipe(options.batch));
}

}  // namespace partita
