#include "tools/models/convnext.h"

#include <fmt/format.h>

#include <string>

#include "ops/graph_builder.h"
#include "runtime/base/status.h"
#include "tools/models/layers.h"
#include "tools/models/transformers/transformer_layers.h"

namespace partita {
namespace {

constexpr double kDeviation = 0.02;  // of initial weights
constexpr double kEpsilon = 1e-6;    // of layer norms
constexpr double kScale = 1e-6;      // of a block's channels, initially

class ConvNext {
 public:
  ConvNext(const ConvNextOptions& options, const OpRegistry& registry)
      : options_(options), builder_(registry, options.dtype) {}

  absl::StatusOr<Graph> Build() {
    const int64_t size = options_.image_size;
    const Shape shape = {options_.batch, size, size, options_.image_channels};
    const ValueId images = builder_.Input("images", options_.dtype, shape);
    const ValueId labels = builder_.Input("labels", DType::kI32, {options_.batch});
    int64_t channels = options_.channels;
    ValueId x = Norm("stem/norm", Convolution("stem", images, options_.image_channels, channels, 4));
    for (int stage = 0; stage < 4; ++stage) {
      const std::string name = fmt::format("stage{}", stage + 1);
      if (stage > 0) {
        x = Convolution(name + "/down", Norm(name + "/norm", x), channels, 2 * channels, 2);
        channels *= 2;
      }
      for (int64_t block = 0; block < options_.blocks[stage]; ++block) {
        x = Block(fmt::format("{}/{}", name, block + 1), x, channels);
      }
    }
    x = Norm("norm", builder_.GlobalAveragePool("global_pool", x));
    const ValueId w = builder_.Parameter("classifier/weights", {channels, options_.classes}, "normal", kDeviation);
    const ValueId logits = builder_.Bias("classifier/bias", builder_.Add("classifier", "matmul", {x, w}));
    const ValueId loss = builder_.SoftmaxCrossEntropy("loss", logits, labels, options_.label_smoothing);
    return builder_.Build(loss, {builder_.Accuracy("accuracy", logits, labels)});
  }

 private:
  // Windows that do not overlap; of 1 x 1 a dense layer of each pixel.
  ValueId Convolution(const std::string& name, ValueId x, int64_t inputs, int64_t outputs, int64_t side) {
    const ValueId w = builder_.Parameter(name + "/weights", {outputs, side, side, inputs}, "normal", kDeviation);
    return builder_.Bias(name + "/bias", builder_.Add(name, "conv2d", {x, w}, {{"stride", IntList{side, side}}}));
  }

  ValueId Depthwise(const std::string& name, ValueId x, int64_t channels) {
    const ValueId w = builder_.Parameter(name + "/weights", {channels, 7, 7, 1}, "normal", kDeviation);
    const Attributes attributes = {{"padding", IntList{3, 3, 3, 3}}, {"groups", channels}};
    return builder_.Bias(name + "/bias", builder_.Add(name, "conv2d", {x, w}, attributes));
  }

  ValueId Norm(const std::string& name, ValueId x) { return builder_.LayerNorm(name, x, kEpsilon); }

  ValueId Block(const std::string& name, ValueId x, int64_t channels) {
    ValueId y = Norm(name + "/norm", Depthwise(name + "/depthwise", x, channels));
    y = builder_.Add(name + "/gelu", "gelu", {Convolution(name + "/up", y, channels, 4 * channels, 1)});
    y = Convolution(name + "/down", y, 4 * channels, channels, 1);
    y = builder_.Add(name + "/scaled", "mul", {y, builder_.Parameter(name + "/scale", {channels}, "constant", kScale)});
    return builder_.Add(name + "/sum", "add", {x, y});
  }

  const ConvNextOptions& options_;
  GraphBuilder builder_;
};

}  // namespace

// Trained as its authors trained it on ImageNet-1K: 300 epochs with batches of 4096, 20 of them to warm up.
absl::StatusOr<Model> MakeConvNext(const ConvNextOptions& options, const OpRegistry& registry) {
  for (const int64_t blocks : options.blocks) {
    if (blocks < 1) return InvalidArgument("a stage has {} blocks; at least 1 is needed", blocks);
  }
  if (options.channels < 1) return InvalidArgument("channels is {}; at least 1 is needed", options.channels);
  Model model;
  model.name = "convnext-tiny";
  ASSIGN_OR_RETURN(model.graph, ConvNext(options, registry).Build());
  model.optimizer = AdamW({{"weight_decay", 0.05}}, 0, {"*/scale"});
  model.learning_rate.schedule = "cosine";
  model.learning_rate.base = 4e-3 * static_cast<double>(options.batch) / 4096;
  model.learning_rate.warmup_steps = StepsOfImageNet(20, options.batch);
  model.learning_rate.steps = StepsOfImageNet(300, options.batch);
  return model;
}

}  // namespace partita
