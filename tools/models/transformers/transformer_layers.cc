#include "tools/models/transformers/transformer_layers.h"

#include "runtime/base/status.h"

namespace partita {

ValueId TransformerLayers::Table(const std::string& name, int64_t rows) {
  return builder_.Parameter(name + "/table", {rows, options_.width}, options_.table.initializer, options_.table.scale);
}

ValueId TransformerLayers::FirstRows(const std::string& name, ValueId table, int64_t rows) {
  if (!builder_.status().ok() || builder_.type(table).shape[0] == rows) return table;
  return builder_.Add(name, "slice", {table}, {{"begin", IntList{0, 0}}, {"size", IntList{rows, options_.width}}});
}

ValueId TransformerLayers::Norm(const std::string& name, ValueId x) {
  return builder_.LayerNorm(name, x, options_.epsilon);
}

ValueId TransformerLayers::Dense(const std::string& name, ValueId x, int64_t units, const Initial& initial) {
  if (!builder_.status().ok()) return kNoValue;
  const Shape shape = {builder_.type(x).shape.back(), units};
  const ValueId w = builder_.Parameter(name + "/weights", shape, initial.initializer, initial.scale);
  return builder_.Bias(name + "/bias", builder_.Add(name, "matmul", {x, w}));
}

ValueId TransformerLayers::Heads(const std::string& name, ValueId x) {
  const int64_t depth = options_.width / options_.heads;
  return builder_.Add(name + "/heads", "reshape", {Dense(name, x, options_.width, options_.attention)},
                      {{"shape", IntList{-1, options_.places, options_.heads, depth}}});
}

ValueId TransformerLayers::Attention(const std::string& block, ValueId x, ValueId lengths) {
  const ValueId query = Heads(block + "/query", x), key = Heads(block + "/key", x), value = Heads(block + "/value", x);
  const ValueId read = builder_.Add(block + "/read", "scaled_dot_product_attention", {query, key, value, lengths},
                                    {{"causal", options_.causal}, {"dropout_rate", options_.attention_dropout_rate}});
  const ValueId joined =
      builder_.Add(block + "/joined", "reshape", {read}, {{"shape", IntList{-1, options_.places, options_.width}}});
  return Dense(block + "/output", joined, options_.width, options_.last);
}

ValueId TransformerLayers::Mlp(const std::string& block, ValueId x, int64_t units) {
  const ValueId up = builder_.Add(block + "/gelu", options_.activation, {Dense(block + "/up", x, units)});
  return Dense(block + "/down", up, options_.width, options_.last);
}

ValueId TransformerLayers::Residual(const std::string& name, ValueId x, ValueId branch) {
  return builder_.Add(name + "/sum", "add", {x, Dropout(name + "/dropout", branch)});
}

ValueId TransformerLayers::Dropout(const std::string& name, ValueId x) {
  return options_.dropout_rate == 0 ? x : builder_.Dropout(name, x, options_.dropout_rate);
}

ValueId TransformerLayers::FirstPlace(const std::string& name, ValueId x) {
  const ValueId first = builder_.Add(name + "/place", "slice", {x},
                                     {{"begin", IntList{0, 0, 0}}, {"size", IntList{-1, 1, options_.width}}});
  return builder_.Add(name, "reshape", {first}, {{"shape", IntList{-1, options_.width}}});
}

Optimizer AdamW(const Attributes& attributes, double clip_norm, const std::vector<std::string>& others) {
  Optimizer adamw{"adamw", attributes, clip_norm};
  std::vector<std::string> patterns = {"*/bias/values", "*/gain", "*/offset"};
  patterns.insert(patterns.end(), others.begin(), others.end());
  for (const std::string& pattern : patterns) {
    adamw.groups.push_back({.pattern = pattern, .attributes = {{"weight_decay", 0.0}}});
  }
  return adamw;
}

absl::Status CheckBlocks(int64_t layers, int64_t heads, int64_t width) {
  if (layers < 1) return InvalidArgument("layers is {}; expected at least 1", layers);
  if (heads < 1 || width % heads != 0) {
    return InvalidArgument("heads is {}; expected a divisor of the width (hidden), which is {}", heads, width);
  }
  return absl::OkStatus();
}

}  // namespace partita
