// Common parts of the models that are made of attention: tables, layer norms, and the two branches of a block.
#ifndef PARTITA_TOOLS_MODELS_TRANSFORMERS_TRANSFORMER_LAYERS_H_
#define PARTITA_TOOLS_MODELS_TRANSFORMERS_TRANSFORMER_LAYERS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "graph/optimizer/optimizer.h"
#include "ops/graph_builder.h"

namespace partita {

struct Initial {
  std::string initializer = "normal";
  double scale = 0.02;
};

struct TransformerOptions {
  DType dtype = DType::kF32;
  int64_t places = 0;  // of a sequence
  int64_t width = 0;
  int64_t heads = 0;
  double epsilon = 1e-5;              // of layer norms
  double dropout_rate = 0;            // behind branches, and where a model says so
  double attention_dropout_rate = 0;  // of probabilities
  std::string activation = "gelu";
  bool causal = false;
  Initial table = {};      // of tables
  Initial attention = {};  // of queries, keys and values
  Initial dense = {};
  Initial last = {};  // of the last layer of a branch
};

// x is [batch, places, width], its first dimension whatever the inputs of the graph say.
class TransformerLayers {
 public:
  TransformerLayers(TransformerOptions options, const OpRegistry& registry)
      : options_(std::move(options)), builder_(registry, options_.dtype) {}

  GraphBuilder& builder() { return builder_; }

  // "<name>/table" [rows, width].
  ValueId Table(const std::string& name, int64_t rows);
  // The first `rows` of a table: [rows, width].
  ValueId FirstRows(const std::string& name, ValueId table, int64_t rows);
  // "<name>/gain" and "<name>/offset".
  ValueId Norm(const std::string& name, ValueId x);
  // "<name>/weights" [inputs, units] and "<name>/bias/values".
  ValueId Dense(const std::string& name, ValueId x, int64_t units, const Initial& initial);
  ValueId Dense(const std::string& name, ValueId x, int64_t units) { return Dense(name, x, units, options_.dense); }

  // "<block>/query", "key", "value" and "output" are dense. `lengths` may be kNoValue: all places are read.
  ValueId Attention(const std::string& block, ValueId x, ValueId lengths);
  // "<block>/up" to `units` and "<block>/down" are dense.
  ValueId Mlp(const std::string& block, ValueId x, int64_t units);
  // "<name>/sum" of x and of the branch, behind "<name>/dropout".
  ValueId Residual(const std::string& name, ValueId x, ValueId branch);
  ValueId Dropout(const std::string& name, ValueId x);

  // [batch, width] of the first place.
  ValueId FirstPlace(const std::string& name, ValueId x);

 private:
  ValueId Heads(const std::string& name, ValueId x);

  const TransformerOptions options_;
  GraphBuilder builder_;
};

// AdamW that decays neither biases, nor the gains and offsets of norms, nor what matches `others`.
Optimizer AdamW(const Attributes& attributes, double clip_norm, const std::vector<std::string>& others = {});

// kInvalidArgument: no layers, or heads that do not divide the width.
absl::Status CheckBlocks(int64_t layers, int64_t heads, int64_t width);

}  // namespace partita

#endif  // PARTITA_TOOLS_MODELS_TRANSFORMERS_TRANSFORMER_LAYERS_H_
