#include "tools/models/transformers/bert.h"

#include <fmt/format.h>

#include <string>

#include "runtime/base/status.h"
#include "tools/models/transformers/transformer_layers.h"

namespace partita {
namespace {

constexpr int64_t kIgnored = -100;

class Bert {
 public:
  Bert(const BertOptions& options, const OpRegistry& registry)
      : options_(options),
        layers_({.dtype = options.dtype,
                 .places = options.length,
                 .width = options.width,
                 .heads = options.heads,
                 .epsilon = 1e-12,
                 .dropout_rate = options.dropout_rate,
                 .attention_dropout_rate = options.dropout_rate},
                registry),
        builder_(layers_.builder()) {}

  absl::StatusOr<Graph> Build() {
    const bool of_words = options_.head == BertHead::kWords;
    const Shape places = {options_.batch, options_.length};
    const ValueId ids = builder_.Input("ids", DType::kI32, places);
    const ValueId segments = builder_.Input("segments", DType::kI32, places);
    const ValueId lengths = builder_.Input("lengths", DType::kI32, {options_.batch});
    const ValueId labels = builder_.Input("labels", DType::kI32, of_words ? places : Shape{options_.batch});
    const ValueId words = layers_.Table("words", options_.words);
    ValueId x = Embedding(words, ids, segments);
    for (int64_t i = 1; i <= options_.layers; ++i) x = Block(fmt::format("block{}", i), x, lengths);
    const ValueId logits = of_words ? Words(x, words) : Classes(x);
    Attributes counted;
    if (of_words) counted.Set("ignore_index", kIgnored);
    const ValueId loss = builder_.Add("loss", "softmax_cross_entropy", {logits, labels}, counted);
    return builder_.Build(loss, {builder_.Add("accuracy", "accuracy", {logits, labels}, counted)});
  }

 private:
  ValueId Embedding(ValueId words, ValueId ids, ValueId segments) {
    const ValueId of_words = builder_.Add("words", "embedding", {words, ids});
    const ValueId positions =
        layers_.FirstRows("positions", layers_.Table("positions", options_.positions), options_.length);
    const ValueId of_segments =
        builder_.Add("segments/read", "embedding", {layers_.Table("segments", options_.segments), segments});
    const ValueId sum = builder_.Add("embedding", "add", {of_words, positions, of_segments});
    return layers_.Dropout("embedding/dropout", layers_.Norm("embedding/norm", sum));
  }

  ValueId Block(const std::string& name, ValueId x, ValueId lengths) {
    x = layers_.Norm(name + "/norm1", layers_.Residual(name + "/attention", x, layers_.Attention(name, x, lengths)));
    const ValueId mlp = layers_.Mlp(name, x, 4 * options_.width);
    return layers_.Norm(name + "/norm2", layers_.Residual(name + "/mlp", x, mlp));
  }

  ValueId Words(ValueId x, ValueId words) {
    const ValueId up = builder_.Add("transform/gelu", "gelu", {layers_.Dense("transform", x, options_.width)});
    return builder_.Bias("logits/bias", builder_.Add("logits", "matmul", {layers_.Norm("transform/norm", up), words},
                                                     {{"transpose_w", true}}));
  }

  ValueId Classes(ValueId x) {
    const ValueId pooled = layers_.Dense("pooler", layers_.FirstPlace("pooler/first", x), options_.width);
    const ValueId features = layers_.Dropout("pooler/dropout", builder_.Add("pooler/tanh", "tanh", {pooled}));
    return layers_.Dense("logits", features, options_.classes);
  }

  const BertOptions& options_;
  TransformerLayers layers_;
  GraphBuilder& builder_;
};

absl::Status Check(const BertOptions& options) {
  RETURN_IF_ERROR(CheckBlocks(options.layers, options.heads, options.width));
  if (options.length > options.positions) {
    return InvalidArgument("length is {}; expected at most {}, the rows of the table of positions", options.length,
                           options.positions);
  }
  return absl::OkStatus();
}

}  // namespace

// Trained as its authors trained it (sections A.2 and A.3 of the paper).
absl::StatusOr<Model> MakeBert(const BertOptions& options, const OpRegistry& registry) {
  RETURN_IF_ERROR(Check(options));
  Model model;
  model.name = "bert-base";
  ASSIGN_OR_RETURN(model.graph, Bert(options, registry).Build());
  model.optimizer = AdamW({{"epsilon", 1e-6}, {"weight_decay", 0.01}}, 1);
  model.learning_rate.base = options.head == BertHead::kWords ? 1e-4 : 2e-5;
  model.learning_rate.schedule = "cosine";
  return model;
}

}  // namespace partita
