#include "tools/models/big_lstm.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "ops/graph_builder.h"
#include "runtime/base/status.h"

namespace partita {
namespace {

constexpr int64_t kMostSamples = 8192;
constexpr double kTableScale = 0.05;  // of the two tables over the words

class BigLstm {
 public:
  BigLstm(const BigLstmOptions& options, const OpRegistry& registry)
      : options_(options), builder_(registry, options.dtype) {}

  absl::StatusOr<Graph> Build() {
    const Shape places = {options_.batch, options_.places};
    const ValueId ids = builder_.Input("ids", DType::kI32, places);
    const ValueId targets = builder_.Input("targets", DType::kI32, places);
    const ValueId weights = builder_.Input("weights", options_.dtype, places);
    ValueId x = Dropout("embedding/dropout", Embedding(ids));
    for (int64_t layer = 1; layer <= options_.layers; ++layer) {
      const std::string name = fmt::format("lstm{}", layer);
      x = Dropout(name + "/dropout", Lstm(name, x, layer == 1 ? options_.embedding : options_.projection));
    }
    return builder_.Build(Loss(x, targets, weights));
  }

 private:
  ValueId Embedding(ValueId ids) {
    const Shape shape = {options_.words, options_.embedding};
    const ValueId table = builder_.Parameter("embedding/table", shape, "uniform", kTableScale);
    return builder_.Add("embedding", "embedding", {table, ids}, {{"row_gradients", true}});
  }

  // Its weights as if what it reads and what it gave before were one vector.
  ValueId Lstm(const std::string& name, ValueId x, int64_t inputs) {
    const int64_t gates = 4 * options_.units, outputs = options_.projection;
    const double scale = std::sqrt(3.0 / static_cast<double>(inputs + outputs));
    const ValueId w_x = builder_.Parameter(name + "/input/weights", {inputs, gates}, "uniform", scale);
    const ValueId w_h = builder_.Parameter(name + "/recurrent", {outputs, gates}, "uniform", scale);
    ValueId projection = kNoValue;
    if (outputs != options_.units) {
      const double down = std::sqrt(3.0 / static_cast<double>(options_.units));
      projection = builder_.Parameter(name + "/projection", {options_.units, outputs}, "uniform", down);
    }
    const ValueId g = builder_.Bias(name + "/bias", builder_.Add(name + "/input", "matmul", {x, w_x}));
    return builder_.Add(name, "lstm", {g, w_h, projection}, {{"forget_bias", 1.0}, {"carry", true}});
  }

  ValueId Dropout(const std::string& name, ValueId x) {
    return options_.dropout_rate == 0 ? x : builder_.Dropout(name, x, options_.dropout_rate);
  }

  ValueId Loss(ValueId x, ValueId targets, ValueId weights) {
    const Shape shape = {options_.words, options_.projection};
    const ValueId table = builder_.Parameter("softmax/weights", shape, "uniform", kTableScale);
    const ValueId bias = builder_.Parameter("softmax/bias", {options_.words}, "constant", 0);
    return builder_.Add("loss", "sampled_softmax_cross_entropy", {x, table, bias, targets, weights},
                        {{"samples", options_.samples}});
  }

  const BigLstmOptions& options_;
  GraphBuilder builder_;
};

// The authors' program (github.com/rafaljozefowicz/lm) minimises the mean over the words times the places, and the
// embedding's gradient it multiplies by the sequences as well. What Adagrad makes of gradients s g and an accumulator
// that begins at 1 it makes of g and one that begins at 1 / s^2; a norm of s g is limited by limiting that of g to 1 /
// s of it.
Optimizer AdagradOf(const BigLstmOptions& options) {
  constexpr double kClipNorm = 1;
  const auto times = static_cast<double>(options.places), of_table = times * static_cast<double>(options.batch);
  Optimizer adagrad{"adagrad", {{"initial_accumulator", 1 / (times * times)}, {"epsilon", 0.0}}};
  adagrad.groups = {{.pattern = "embedding/*", .attributes = {{"initial_accumulator", 1 / (of_table * of_table)}}},
                    {.pattern = "lstm*", .clip_norm = kClipNorm / times}};
  adagrad.average = {.decay = 0.999, .pattern = "lstm*", .warmup = true};
  return adagrad;
}

absl::StatusOr<BigLstmOptions> Complete(BigLstmOptions options) {
  if (options.layers < 1) return InvalidArgument("layers is {}; at least 1 is needed", options.layers);
  if (options.embedding == 0) options.embedding = options.projection;
  if (options.samples == 0) options.samples = std::min(kMostSamples, options.words / 2);
  return options;
}

}  // namespace

absl::StatusOr<Model> MakeBigLstm(const BigLstmOptions& options, const OpRegistry& registry) {
  ASSIGN_OR_RETURN(const BigLstmOptions complete, Complete(options));
  Model model;
  model.name = "big-lstm";
  ASSIGN_OR_RETURN(model.graph, BigLstm(complete, registry).Build());
  model.optimizer = AdagradOf(complete);
  model.learning_rate.base = 0.2;
  return model;
}

}  // namespace partita
