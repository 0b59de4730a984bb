#include "tools/models/transformers/gpt2.h"

#include <fmt/format.h>

#include <cmath>
#include <string>

#include "runtime/base/status.h"
#include "tools/models/transformers/transformer_layers.h"

namespace partita {
namespace {

// The last layer of a residual branch begins smaller by the root of the number of branches.
TransformerOptions LayersOf(const Gpt2Options& options) {
  TransformerOptions layers{.dtype = options.dtype, .places = options.length, .width = options.width};
  layers.heads = options.heads;
  layers.dropout_rate = options.dropout_rate;
  layers.activation = "gelu_tanh";
  layers.causal = true;
  layers.last.scale /= std::sqrt(2 * static_cast<double>(options.layers));
  return layers;
}

absl::StatusOr<Graph> Build(const Gpt2Options& options, const OpRegistry& registry) {
  TransformerLayers layers(LayersOf(options), registry);
  GraphBuilder& builder = layers.builder();
  const Shape places = {options.batch, options.length};
  const ValueId ids = builder.Input("ids", DType::kI32, places);
  const ValueId targets = builder.Input("targets", DType::kI32, places);
  const ValueId weights = builder.Input("weights", options.dtype, places);
  const ValueId words = layers.Table("words", options.words);
  const ValueId embedded = builder.Add("words", "embedding", {words, ids});
  const ValueId positions = layers.FirstRows("positions", layers.Table("positions", options.positions), options.length);
  ValueId x = layers.Dropout("embedding/dropout", builder.Add("embedding", "add", {embedded, positions}));
  for (int64_t i = 1; i <= options.layers; ++i) {
    const std::string block = fmt::format("block{}", i);
    x = layers.Residual(block + "/attention", x, layers.Attention(block, layers.Norm(block + "/norm1", x), kNoValue));
    x = layers.Residual(block + "/mlp", x, layers.Mlp(block, layers.Norm(block + "/norm2", x), 4 * options.width));
  }
  const ValueId logits = builder.Add("logits", "matmul", {layers.Norm("norm", x), words}, {{"transpose_w", true}});
  return builder.Build(builder.Add("loss", "softmax_cross_entropy", {logits, targets, weights}));
}

// Sizes are called as the flags of build_model are.
absl::Status Check(const Gpt2Options& options) {
  RETURN_IF_ERROR(CheckBlocks(options.layers, options.heads, options.width));
  if (options.length > options.positions) {
    return InvalidArgument("length is {}; expected at most {}, the rows of the table of positions", options.length,
                           options.positions);
  }
  return absl::OkStatus();
}

}  // namespace

// Trained at the rates of its authors' later report (Brown et al. 2020, appendix B).
absl::StatusOr<Model> MakeGpt2(const Gpt2Options& options, const OpRegistry& registry) {
  RETURN_IF_ERROR(Check(options));
  Model model;
  model.name = "gpt2";
  ASSIGN_OR_RETURN(model.graph, Build(options, registry));
  model.optimizer = AdamW({{"beta2", 0.95}, {"weight_decay", 0.1}}, 1);
  model.learning_rate.base = 6e-4;
  model.learning_rate.schedule = "cosine";
  model.learning_rate.final = 6e-5;
  return model;
}

}  // namespace partita
