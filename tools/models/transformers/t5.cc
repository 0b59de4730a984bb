#include "tools/models/transformers/t5.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <string>

#include "ops/graph_builder.h"
#include "runtime/base/status.h"
#include "tools/models/transformers/transformer_layers.h"

namespace partita {
namespace {

constexpr double kEpsilon = 1e-6;  // of norms

class T5 {
 public:
  T5(const T5Options& options, const OpRegistry& registry)
      : options_(options), depth_(options.width / options.heads), builder_(registry, options.dtype) {}

  absl::StatusOr<Graph> Build() {
    const Shape source = {options_.batch, options_.source_places}, target = {options_.batch, options_.target_places};
    const ValueId words = builder_.Input("source", DType::kI32, source);
    lengths_ = builder_.Input("source_lengths", DType::kI32, {options_.batch});
    const ValueId ids = builder_.Input("ids", DType::kI32, target);
    const ValueId targets = builder_.Input("targets", DType::kI32, target);
    const ValueId weights = builder_.Input("weights", options_.dtype, target);
    table_ = builder_.Parameter("words/table", {options_.words, options_.width}, "normal", 1);
    epsilon_ = builder_.Add("epsilon", "constant", {},
                            {{"dtype", std::string(Name(options_.dtype))}, {"shape", IntList{1}}, {"value", kEpsilon}});
    const ValueId encoded = Stack("encoder", words, options_.source_places, kNoValue);
    const ValueId decoded = Stack("decoder", ids, options_.target_places, encoded);
    return builder_.Build(Loss(decoded, targets, weights));
  }

 private:
  // `encoded`: what a decoder reads; kNoValue: it is the encoder.
  ValueId Stack(const std::string& name, ValueId ids, int64_t places, ValueId encoded) {
    const bool decodes = encoded != kNoValue;
    ValueId x = Dropout(name + "/dropout", builder_.Add(name + "/words", "embedding", {table_, ids}));
    const ValueId distances = Distances(name + "/distances", places, !decodes);
    for (int64_t i = 1; i <= options_.layers; ++i) {
      const std::string block = fmt::format("{}{}", name, i);
      ValueId y = Norm(block + "/norm1", x);
      y = decodes ? Attention(block, y, y, kNoValue, distances, true)
                  : Attention(block, y, y, lengths_, distances, false);
      x = Residual(block + "/attention", x, y);
      if (decodes) {
        const std::string source = block + "/source";
        y = Attention(source, Norm(source + "/norm", x), encoded, lengths_, kNoValue, false);
        x = Residual(source, x, y);
      }
      x = Residual(block + "/mlp", x, Mlp(block, Norm(block + "/norm2", x)));
    }
    return Dropout(name + "/norm/dropout", Norm(name + "/norm", x));
  }

  // A number for each head, query and key, [heads, places, places], of their distance alone. Row i of a list of all
  // distances that is repeated with one element more than it has is shifted by i where it is cut without that element.
  ValueId Distances(const std::string& name, int64_t places, bool two_ways) {
    const int64_t heads = options_.heads, all = 2 * places - 1;
    const auto found = DistanceRows(places, options_.distances, options_.longest_distance, two_ways);
    std::vector<double> rows(found.begin(), found.end());
    rows.push_back(0);
    const ValueId ids = builder_.Table(name + "/rows", DType::kI32, {all + 1}, rows);
    const ValueId table = builder_.Parameter(name + "/table", {options_.distances, heads}, "normal",
                                             1 / std::sqrt(static_cast<double>(options_.width)));
    ValueId x = builder_.Add(name + "/read", "embedding", {table, ids});
    x = builder_.Add(name + "/repeated", "expand", {x}, {{"axes", IntList{0}}, {"sizes", IntList{places}}});
    x = Reshape(name + "/list", x, {places * (all + 1), heads});
    x = Slice(name + "/cut", x, {0, 0}, {places * all, heads});
    x = Reshape(name + "/shifted", x, {places, all, heads});
    x = Slice(name + "/of_keys", x, {0, places - 1, 0}, {places, places, heads});
    return builder_.Add(name, "transpose", {x}, {{"permutation", IntList{2, 0, 1}}});
  }

  ValueId Attention(const std::string& name, ValueId asking, ValueId read, ValueId lengths, ValueId bias, bool causal) {
    const double scale = 1 / std::sqrt(static_cast<double>(options_.width));
    const ValueId query = Heads(name + "/query", asking, scale / std::sqrt(static_cast<double>(depth_)));
    const ValueId key = Heads(name + "/key", read, scale), value = Heads(name + "/value", read, scale);
    const ValueId answer =
        builder_.Add(name + "/read", "scaled_dot_product_attention", {query, key, value, lengths, bias},
                     {{"scale", 1.0}, {"causal", causal}, {"dropout_rate", options_.dropout_rate}});
    const ValueId joined = Reshape(name + "/joined", answer, {-1, Places(asking), options_.width});
    return MatMul(name + "/output", joined, options_.width, scale);
  }

  ValueId Heads(const std::string& name, ValueId x, double scale) {
    return Reshape(name + "/heads", MatMul(name, x, options_.width, scale), {-1, Places(x), options_.heads, depth_});
  }

  ValueId Mlp(const std::string& name, ValueId x) {
    const double scale = 1 / std::sqrt(static_cast<double>(options_.width));
    const ValueId up = builder_.Relu(name + "/relu", MatMul(name + "/up", x, 4 * options_.width, scale));
    return MatMul(name + "/down", Dropout(name + "/relu/dropout", up), options_.width, scale / 2);
  }

  // x over the root of the mean of its squares, times a gain.
  ValueId Norm(const std::string& name, ValueId x) {
    const ValueId squares = builder_.Add(name + "/squares", "square", {x});
    const ValueId mean = builder_.Add(name + "/mean", "mean", {squares}, {{"axes", IntList{2}}, {"keep_sizes", true}});
    const ValueId root = builder_.Add(name + "/root", "sqrt", {builder_.Add(name + "/sum", "add", {mean, epsilon_})});
    const ValueId gain = builder_.Parameter(name + "/gain", {options_.width}, "constant", 1);
    return builder_.Add(name, "mul", {builder_.Add(name + "/scaled", "div", {x, root}), gain});
  }

  // The mean over the words that are there, however they lie.
  ValueId Loss(ValueId x, ValueId targets, ValueId weights) {
    const double scale = 1 / std::sqrt(static_cast<double>(options_.width));
    const ValueId scaled = builder_.Add("logits/scale", "scale", {x}, {{"factor", scale}});
    const ValueId logits = builder_.Add("logits", "matmul", {scaled, table_}, {{"transpose_w", true}});
    const ValueId words = builder_.Add("loss/words", "sum", {weights});
    const ValueId shares = builder_.Add("loss/shares", "over", {weights, words});
    return builder_.Add("loss", "softmax_cross_entropy", {logits, targets, shares}, {{"reduction", "sum"}});
  }

  int64_t Places(ValueId x) const { return builder_.status().ok() ? builder_.type(x).shape[1] : 1; }

  ValueId MatMul(const std::string& name, ValueId x, int64_t units, double scale) {
    if (!builder_.status().ok()) return kNoValue;
    const Shape shape = {builder_.type(x).shape.back(), units};
    return builder_.Add(name, "matmul", {x, builder_.Parameter(name + "/weights", shape, "normal", scale)});
  }

  ValueId Reshape(const std::string& name, ValueId x, const IntList& shape) {
    return builder_.Add(name, "reshape", {x}, {{"shape", shape}});
  }

  ValueId Slice(const std::string& name, ValueId x, const IntList& begin, const IntList& size) {
    return builder_.Add(name, "slice", {x}, {{"begin", begin}, {"size", size}});
  }

  ValueId Residual(const std::string& name, ValueId x, ValueId branch) {
    return builder_.Add(name + "/sum", "add", {x, Dropout(name + "/dropout", branch)});
  }

  ValueId Dropout(const std::string& name, ValueId x) {
    return options_.dropout_rate == 0 ? x : builder_.Dropout(name, x, options_.dropout_rate);
  }

  const T5Options& options_;
  const int64_t depth_;  // of a head
  GraphBuilder builder_;
  ValueId lengths_ = kNoValue, table_ = kNoValue, epsilon_ = kNoValue;
};

absl::Status Check(const T5Options& options) {
  RETURN_IF_ERROR(CheckBlocks(options.layers, options.heads, options.width));
  if (options.source_places < 1 || options.target_places < 1) {
    return InvalidArgument("sequences of {} and {} words; expected at least 1", options.source_places,
                           options.target_places);
  }
  return absl::OkStatus();
}

}  // namespace

// In single precision, as the published tables were trained: where the logarithm is next to a whole number, the row
// depends on it.
std::vector<int64_t> DistanceRows(int64_t places, int64_t rows, int64_t longest, bool two_ways) {
  const int64_t each = two_ways ? rows / 2 : rows, near = each / 2;
  const float range = std::log(static_cast<float>(longest) / static_cast<float>(near));
  std::vector<int64_t> found;
  for (int64_t distance = 1 - places; distance < places; ++distance) {
    const int64_t first = two_ways && distance > 0 ? each : 0;
    const int64_t far = two_ways ? std::abs(distance) : std::max<int64_t>(-distance, 0);
    if (far < near) {
      found.push_back(first + far);
      continue;
    }
    const float share = std::log(static_cast<float>(far) / static_cast<float>(near)) / range;
    const auto more = static_cast<int64_t>(share * static_cast<float>(each - near));
    found.push_back(first + std::min(near + more, each - 1));
  }
  return found;
}

// Adafactor, which its authors train it with, is not there: AdamW at a constant rate, as its users fine-tune it.
absl::StatusOr<Model> MakeT5(const T5Options& options, const OpRegistry& registry) {
  RETURN_IF_ERROR(Check(options));
  Model model;
  model.name = "t5-small";
  ASSIGN_OR_RETURN(model.graph, T5(options, registry).Build());
  model.optimizer = {"adamw", {}, 1.0};
  model.learning_rate.base = 1e-3;
  return model;
}

}  // namespace partita
