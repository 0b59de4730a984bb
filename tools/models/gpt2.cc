#include "tools/models/gpt2.h"

#include <fmt/format.h>

#include <cmath>
#include <string>

#include "ops/graph_builder.h"
#include "runtime/base/status.h"

namespace partita {
namespace {

constexpr double kDeviation = 0.02;  // of initial weights

class Gpt2 {
 public:
  Gpt2(const Gpt2Options& options, const OpRegistry& registry) : options_(options), builder_(registry, options.dtype) {}

  absl::StatusOr<Graph> Build() {
    const Shape places = {options_.batch, options_.length};
    const ValueId ids = builder_.Input("ids", DType::kI32, places);
    const ValueId targets = builder_.Input("targets", DType::kI32, places);
    const ValueId weights = builder_.Input("weights", options_.dtype, places);
    const ValueId words = Table("words", options_.words);
    const ValueId embedded = builder_.Add("words", "embedding", {words, ids});
    ValueId x = Dropout("embedding/dropout", builder_.Add("embedding", "add", {embedded, Positions()}));
    for (int64_t block = 1; block <= options_.layers; ++block) {
      const std::string name = fmt::format("block{}", block);
      x = Branch(name + "/attention", x, Attention(name, Norm(name + "/norm1", x)));
      x = Branch(name + "/mlp", x, Mlp(name, Norm(name + "/norm2", x)));
    }
    const ValueId logits = builder_.Add("logits", "matmul", {Norm("norm", x), words}, {{"transpose_w", true}});
    return builder_.Build(builder_.Add("loss", "softmax_cross_entropy", {logits, targets, weights}));
  }

 private:
  ValueId Table(const std::string& name, int64_t rows) {
    return builder_.Parameter(name + "/table", {rows, options_.width}, "normal", kDeviation);
  }

  // [length, width], for every sequence.
  ValueId Positions() {
    const ValueId table = Table("positions", options_.positions);
    if (options_.positions == options_.length) return table;
    return builder_.Add("positions", "slice", {table},
                        {{"begin", IntList{0, 0}}, {"size", IntList{options_.length, options_.width}}});
  }

  ValueId Norm(const std::string& name, ValueId x) {
    const ValueId gain = builder_.Parameter(name + "/gain", {options_.width}, "constant", 1);
    const ValueId offset = builder_.Parameter(name + "/offset", {options_.width}, "constant", 0);
    return builder_.Add(name, "layer_norm", {x, gain, offset}, {{"epsilon", 1e-5}});
  }

  ValueId Dense(const std::string& name, ValueId x, int64_t inputs, int64_t units, double deviation = kDeviation) {
    const ValueId w = builder_.Parameter(name + "/weights", {inputs, units}, "normal", deviation);
    return builder_.Bias(name + "/bias", builder_.Add(name, "matmul", {x, w}));
  }

  // Behind a residual branch: smaller by the root of the number of branches.
  ValueId Last(const std::string& name, ValueId x, int64_t inputs) {
    const double branches = 2 * static_cast<double>(options_.layers);
    return Dense(name, x, inputs, options_.width, kDeviation / std::sqrt(branches));
  }

  ValueId Heads(const std::string& name, ValueId x) {
    const int64_t depth = options_.width / options_.heads;
    return builder_.Add(name + "/heads", "reshape", {Dense(name, x, options_.width, options_.width)},
                        {{"shape", IntList{-1, options_.length, options_.heads, depth}}});
  }

  ValueId Attention(const std::string& name, ValueId x) {
    const ValueId query = Heads(name + "/query", x), key = Heads(name + "/key", x), value = Heads(name + "/value", x);
    const ValueId read =
        builder_.Add(name + "/read", "scaled_dot_product_attention", {query, key, value, kNoValue}, {{"causal", true}});
    const ValueId joined =
        builder_.Add(name + "/joined", "reshape", {read}, {{"shape", IntList{-1, options_.length, options_.width}}});
    return Last(name + "/output", joined, options_.width);
  }

  ValueId Mlp(const std::string& name, ValueId x) {
    const int64_t units = 4 * options_.width;
    const ValueId up = builder_.Add(name + "/gelu", "gelu_tanh", {Dense(name + "/up", x, options_.width, units)});
    return Last(name + "/down", up, units);
  }

  ValueId Branch(const std::string& name, ValueId x, ValueId branch) {
    return builder_.Add(name + "/sum", "add", {x, Dropout(name + "/dropout", branch)});
  }

  ValueId Dropout(const std::string& name, ValueId x) {
    return options_.dropout_rate == 0 ? x : builder_.Dropout(name, x, options_.dropout_rate);
  }

  const Gpt2Options& options_;
  GraphBuilder builder_;
};

// Sizes are called as the flags of build_model are.
absl::Status Check(const Gpt2Options& options) {
  if (options.layers < 1) return InvalidArgument("layers is {}; expected at least 1", options.layers);
  if (options.heads < 1 || options.width % options.heads != 0) {
    return InvalidArgument("heads is {}; expected a divisor of the width (hidden), which is {}", options.heads,
                           options.width);
  }
  if (options.length > options.positions) {
    return InvalidArgument("length is {}; expected at most {}, the rows of the table of positions", options.length,
                           options.positions);
  }
  return absl::OkStatus();
}

// The rates of the authors' later report (Brown et al. 2020, appendix B): neither norms nor offsets decay.
Optimizer AdamW() {
  Optimizer adamw{"adamw", {{"beta2", 0.95}, {"weight_decay", 0.1}}, 1.0};
  for (const char* const pattern : {"*/bias/values", "*/gain", "*/offset"}) {
    adamw.groups.push_back({.pattern = pattern, .attributes = {{"weight_decay", 0.0}}});
  }
  return adamw;
}

}  // namespace

absl::StatusOr<Model> MakeGpt2(const Gpt2Options& options, const OpRegistry& registry) {
  RETURN_IF_ERROR(Check(options));
  Model model;
  model.name = "gpt2";
  ASSIGN_OR_RETURN(model.graph, Gpt2(options, registry).Build());
  model.optimizer = AdamW();
  model.learning_rate.base = 6e-4;
  model.learning_rate.schedule = "cosine";
  model.learning_rate.final = 6e-5;
  return model;
}

}  // namespace partita
