#include "tools/models/transformers/vit.h"

#include <fmt/format.h>

#include <cmath>
#include <string>

#include "runtime/base/status.h"
#include "tools/models/transformers/transformer_layers.h"

namespace partita {
namespace {

int64_t PatchesOf(const VitOptions& options) {
  const int64_t side = options.image_size / options.patch;
  return side * side;
}

// torchvision's initial values. It draws queries, keys and values as one matrix of three times the width.
TransformerOptions LayersOf(const VitOptions& options) {
  TransformerOptions layers{.dtype = options.dtype, .places = PatchesOf(options) + 1, .width = options.width};
  layers.heads = options.heads;
  layers.epsilon = 1e-6;
  layers.dropout_rate = options.dropout_rate;
  layers.attention = {"uniform", std::sqrt(6 / (4 * static_cast<double>(options.width)))};
  layers.dense = layers.last = {"glorot_uniform", 1};
  return layers;
}

class Vit {
 public:
  Vit(const VitOptions& options, const OpRegistry& registry)
      : options_(options), layers_(LayersOf(options), registry), builder_(layers_.builder()) {}

  absl::StatusOr<Graph> Build() {
    const int64_t size = options_.image_size;
    const ValueId images =
        builder_.Input("images", options_.dtype, {options_.batch, size, size, options_.image_channels});
    const ValueId labels = builder_.Input("labels", DType::kI32, {options_.batch});
    ValueId x = WithClass(Patches(images));
    const ValueId positions = layers_.Table("positions", PatchesOf(options_) + 1);
    x = layers_.Dropout("embedding/dropout", builder_.Add("embedding", "add", {x, positions}));
    for (int64_t i = 1; i <= options_.layers; ++i) x = Block(fmt::format("block{}", i), x);
    const ValueId first = layers_.FirstPlace("first", layers_.Norm("norm", x));
    const ValueId logits = layers_.Dense("logits", first, options_.classes, {"constant", 0});
    const ValueId loss = builder_.SoftmaxCrossEntropy("loss", logits, labels, options_.label_smoothing);
    return builder_.Build(loss, {builder_.Accuracy("accuracy", logits, labels)});
  }

 private:
  // [batch, patches, width], row by row of the picture.
  ValueId Patches(ValueId images) {
    const int64_t patch = options_.patch;
    const Shape shape = {options_.width, patch, patch, options_.image_channels};
    const double deviation = std::sqrt(1 / static_cast<double>(patch * patch * options_.image_channels));
    const ValueId w = builder_.Parameter("patches/conv/weights", shape, "normal", deviation);
    const ValueId conv = builder_.Add("patches/conv", "conv2d", {images, w}, {{"stride", IntList{patch, patch}}});
    return builder_.Add("patches", "reshape", {builder_.Bias("patches/bias", conv)},
                        {{"shape", IntList{-1, PatchesOf(options_), options_.width}}});
  }

  // The token is the same in every picture.
  ValueId WithClass(ValueId patches) {
    const ValueId token = builder_.Parameter("class/token", {1, options_.width}, "constant", 0);
    const ValueId like = builder_.Add("class/place", "slice", {patches},
                                      {{"begin", IntList{0, 0, 0}}, {"size", IntList{-1, 1, options_.width}}});
    const ValueId tokens = builder_.Add("class", "expand_like", {like, token}, {{"axes", IntList{0}}});
    return builder_.Concat("places", {tokens, patches}, 1);
  }

  ValueId Block(const std::string& name, ValueId x) {
    const ValueId read = layers_.Attention(name, layers_.Norm(name + "/norm1", x), kNoValue);
    x = layers_.Residual(name + "/attention", x, read);
    return layers_.Residual(name + "/mlp", x, layers_.Mlp(name, layers_.Norm(name + "/norm2", x), 4 * options_.width));
  }

  const VitOptions& options_;
  TransformerLayers layers_;
  GraphBuilder& builder_;
};

absl::Status Check(const VitOptions& options) {
  RETURN_IF_ERROR(CheckBlocks(options.layers, options.heads, options.width));
  if (options.patch >= 1 && options.image_size >= options.patch && options.image_size % options.patch == 0) {
    return absl::OkStatus();
  }
  return InvalidArgument("patch is {}; a divisor of the {} pixels of an image's side is needed", options.patch,
                         options.image_size);
}

}  // namespace

// The recipe of torchvision's references, without its augmentations and its warm-up.
absl::StatusOr<Model> MakeVit(const VitOptions& options, const OpRegistry& registry) {
  RETURN_IF_ERROR(Check(options));
  Model model;
  model.name = "vit-b-16";
  ASSIGN_OR_RETURN(model.graph, Vit(options, registry).Build());
  model.optimizer = {"adamw", {{"weight_decay", 0.3}}, 1.0};
  model.learning_rate.base = 0.003 * static_cast<double>(options.batch) / 4096;
  model.learning_rate.schedule = "cosine";
  return model;
}

}  // namespace partita
