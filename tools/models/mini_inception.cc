#include "tools/models/layers.h"

namespace partita {
namespace {

// Channels of the four branches of a block: 1x1 // 1x1, 3x3 // 1x1, 3x3, 3x3 // average pool, 1x1.
struct BlockChannels {
  int64_t branch1;
  int64_t branch2[2];
  int64_t branch3[3];
  int64_t branch4;
};

ValueId Block(ModelLayers& layers, const std::string& block, ValueId x, const BlockChannels& channels) {
  const auto conv1x1 = [&](const std::string& name, ValueId from, int64_t to) {
    return layers.Conv(block + name, from, {.channels = to, .kernel = 1});
  };
  const auto conv3x3 = [&](const std::string& name, ValueId from, int64_t to) {
    return layers.Conv(block + name, from, {.channels = to, .kernel = 3, .padding = 1});
  };
  const ValueId branch1 = conv1x1("1_1x1", x, channels.branch1);
  ValueId branch2 = conv1x1("2_1x1", x, channels.branch2[0]);
  branch2 = conv3x3("2_3x3", branch2, channels.branch2[1]);
  ValueId branch3 = conv1x1("3_1x1", x, channels.branch3[0]);
  branch3 = conv3x3("3_3x3a", branch3, channels.branch3[1]);
  branch3 = conv3x3("3_3x3b", branch3, channels.branch3[2]);
  ValueId branch4 = layers.builder().AveragePool(block + "4_pool", x, {.kernel = 3, .stride = 1, .padding = 1});
  branch4 = conv1x1("4_1x1", branch4, channels.branch4);
  return layers.builder().Concat(block + "_concat", {branch1, branch2, branch3, branch4}, 3);
}

}  // namespace

absl::StatusOr<Model> MakeMiniInception(const ModelOptions& options, const OpRegistry& registry) {
  ModelLayers layers(options, registry, {.batch_norm = true, .dropout = true, .label_smoothing = 0.05});
  GraphBuilder& b = layers.builder();
  ValueId x = layers.Conv("stem", layers.images(), {.channels = 32, .kernel = 3, .padding = 1});
  x = layers.EndOfBlock("stem", b.MaxPool("stem_pool", x, {.kernel = 2, .stride = 2}));
  x = Block(layers, "a", x, {.branch1 = 32, .branch2 = {24, 32}, .branch3 = {16, 24, 24}, .branch4 = 16});
  x = layers.EndOfBlock("a", b.MaxPool("a_pool", x, {.kernel = 2, .stride = 2}));
  x = Block(layers, "b", x, {.branch1 = 64, .branch2 = {48, 96}, .branch3 = {32, 48, 48}, .branch4 = 48});
  x = b.GlobalAveragePool("global_pool", x);
  x = layers.Dropout("dropout", x);
  return layers.Finish("mini-inception", x);
}

}  // namespace partita
