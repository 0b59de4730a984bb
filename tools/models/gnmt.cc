#include "tools/models/gnmt.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "ops/graph_builder.h"
#include "runtime/base/status.h"

namespace partita {
namespace {

constexpr double kScale = 0.1;  // all weights begin between -0.1 and 0.1
constexpr int64_t kWarmupSteps = 200, kPairs = 3'970'000, kEpochs = 6, kHalvings = 4;

// "<part>1", ...
std::string LayerName(const std::string& part, int64_t layer) { return fmt::format("{}{}", part, layer); }

class Gnmt {
 public:
  Gnmt(const GnmtOptions& options, const OpRegistry& registry) : options_(options), builder_(registry, options.dtype) {}

  absl::StatusOr<Graph> Build() {
    const Shape source = {options_.batch, options_.source_places}, target = {options_.batch, options_.target_places};
    const ValueId words = builder_.Input("source", DType::kI32, source);
    lengths_ = builder_.Input("source_lengths", DType::kI32, {options_.batch});
    const ValueId ids = builder_.Input("ids", DType::kI32, target);
    const ValueId targets = builder_.Input("targets", DType::kI32, target);
    const ValueId weights = builder_.Input("weights", options_.dtype, target);
    table_ = Weights("embedding/table", {options_.words, options_.units});
    const ValueId encoded = Encode(Embedding("embedding/source", words));
    const ValueId decoded = Decode(Embedding("embedding/target", ids), encoded);
    return builder_.Build(Loss(decoded, targets, weights));
  }

 private:
  ValueId Weights(const std::string& name, const Shape& shape) {
    return builder_.Parameter(name, shape, "uniform", kScale);
  }

  ValueId Embedding(const std::string& name, ValueId ids) {
    return builder_.Add(name, "embedding", {table_, ids}, {{"padding_row", int64_t{0}}});
  }

  ValueId MatMul(const std::string& name, ValueId x, int64_t inputs, int64_t outputs) {
    return builder_.Add(name, "matmul", {x, Weights(name + "/weights", {inputs, outputs})});
  }

  ValueId Bias(const std::string& name, ValueId x, int64_t channels) {
    return builder_.Add(name, "bias", {x, Weights(name + "/values", {channels})});
  }

  ValueId Dropout(const std::string& name, ValueId x) {
    return options_.dropout_rate == 0 ? x : builder_.Dropout(name, x, options_.dropout_rate);
  }

  // What lies behind a sentence's end is padding, and stays 0; kNoValue: there is nothing.
  ValueId Lstm(const std::string& name, ValueId x, int64_t inputs, ValueId lengths, bool reverse = false) {
    const int64_t units = options_.units, gates = 4 * units;
    const ValueId w_h = Weights(name + "/recurrent", {units, gates});
    const ValueId sums = Bias(name + "/bias", MatMul(name + "/input", x, inputs, gates), gates);
    const ValueId g = builder_.Bias(name + "/recurrent_bias", sums);
    return builder_.Add(name, "lstm", {g, w_h, kNoValue, kNoValue, kNoValue, lengths}, {{"reverse", reverse}});
  }

  ValueId Encode(ValueId x) {
    const int64_t units = options_.units;
    x = Dropout("encoder1/dropout", x);
    const ValueId forward = Lstm("encoder1/forward", x, units, lengths_);
    const ValueId backward = Lstm("encoder1/backward", x, units, lengths_, true);
    x = builder_.Concat("encoder1/both", {forward, backward}, 2);
    for (int64_t layer = 2; layer <= options_.layers; ++layer) {
      const std::string name = LayerName("encoder", layer);
      const ValueId y = Lstm(name, Dropout(name + "/dropout", x), layer == 2 ? 2 * units : units, lengths_);
      x = layer == 2 ? y : builder_.Add(name + "/residual", "add", {y, x});
    }
    return x;
  }

  // What the first layer gives asks; further ones read the answer beside what the layer before gave.
  ValueId Decode(ValueId x, ValueId encoded) {
    const int64_t units = options_.units;
    x = Lstm("decoder1", Dropout("decoder1/dropout", x), units, kNoValue);
    const ValueId context = Attention(x, encoded);
    for (int64_t layer = 2; layer <= options_.layers; ++layer) {
      const std::string name = LayerName("decoder", layer);
      const ValueId read = builder_.Concat(name + "/both", {x, context}, 2);
      const ValueId y = Lstm(name, Dropout(name + "/dropout", read), 2 * units, kNoValue);
      x = layer == 2 ? y : builder_.Add(name + "/residual", "add", {y, x});
    }
    return x;
  }

  ValueId Attention(ValueId asking, ValueId encoded) {
    const int64_t units = options_.units;
    const ValueId query = MatMul("attention/query", asking, units, units);
    const ValueId keys = MatMul("attention/keys", encoded, units, units);
    const ValueId v = Weights("attention/v", {units});
    const ValueId gain =
        builder_.Parameter("attention/gain", {1}, "constant", 1 / std::sqrt(static_cast<double>(units)));
    const ValueId bias = builder_.Parameter("attention/bias", {units}, "constant", 0);
    return builder_.Add("attention", "attention", {query, keys, encoded, v, gain, bias, lengths_});
  }

  // The mean over the words that are there, however they lie.
  ValueId Loss(ValueId x, ValueId targets, ValueId weights) {
    const ValueId products = MatMul("classifier/matmul", x, options_.units, options_.words);
    const ValueId logits = Bias("classifier/bias", products, options_.words);
    const ValueId words = builder_.Add("loss/words", "sum", {weights});
    const ValueId shares = builder_.Add("loss/shares", "over", {weights, words});
    return builder_.Add("loss", "softmax_cross_entropy", {logits, targets, shares},
                        {{"label_smoothing", options_.label_smoothing}, {"reduction", "sum"}});
  }

  const GnmtOptions& options_;
  GraphBuilder builder_;
  ValueId lengths_ = kNoValue, table_ = kNoValue;
};

// Halved four times in the last third.
LearningRate RateOf(const GnmtOptions& options) {
  const int64_t steps = options.steps > 0 ? options.steps : std::max(kPairs * kEpochs / options.batch, int64_t{1});
  LearningRate rate;
  rate.schedule = "halving";
  rate.base = 2e-3;
  rate.warmup = "exponential";
  rate.warmup_steps = kWarmupSteps;
  rate.decay_start = std::max(steps * 2 / 3, kWarmupSteps);
  rate.decay_steps = std::max((steps - rate.decay_start) / kHalvings, int64_t{1});
  rate.decay_times = kHalvings;
  return rate;
}

}  // namespace

absl::StatusOr<Model> MakeGnmt(const GnmtOptions& options, const OpRegistry& registry) {
  if (options.layers < 2) {
    return InvalidArgument("layers is {}; at least 2 are needed: one of two directions, and one above it",
                           options.layers);
  }
  Model model;
  model.name = "gnmt";
  ASSIGN_OR_RETURN(model.graph, Gnmt(options, registry).Build());
  model.optimizer = {"adam", {}};
  model.optimizer.clip_norm = 5;
  model.learning_rate = RateOf(options);
  return model;
}

}  // namespace partita
