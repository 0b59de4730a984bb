// Low-rank adapters of a model's products (LoRA; Hu et al. 2021, arXiv 2106.09685): small matrices that are trained in
// place of large weights.
//
//   before   %y = matmul(%x, %w)
//   after    %y.base = matmul(%x, %w)
//            %y.lora_A = matmul(%x, %w.lora_A.weight^T)   %y.lora_scaled = scale(%y.lora_A) factor=alpha/rank
//            %y.lora_B = matmul(%y.lora_scaled, %w.lora_B.weight^T)   %y = add(%y.base, %y.lora_B)
//
// A is [rank, in] and B [out, rank], as PEFT has them, whichever way w lies. A begins uniform in +-1/sqrt(in), which is
// PyTorch's kaiming_uniform with a = sqrt(5), and B with zeros: the first step has the values of the model without
// them.
#ifndef PARTITA_GRAPH_READ_ADAPTED_MODEL_H_
#define PARTITA_GRAPH_READ_ADAPTED_MODEL_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "graph/ir/model.h"
#include "graph/ir/op_definition.h"

namespace partita {

struct Lora {
  int64_t rank = 0;
  double alpha = 0;                  // the product of B and A is multiplied by alpha / rank
  double dropout = 0;                // of what A reads, in training
  std::vector<std::string> weights;  // patterns of those that get adapters; none: all weights of products
  std::vector<std::string> trained;  // patterns of other parameters that are trained; none: none are
};

// Adapters of all weights of products that match; weights that are states already, as those that an export froze, get
// them too. All other parameters but `trained` become states, as in graph/read/frozen_model.h, and groups of the
// optimizer that speak of these alone are dropped. kInvalidArgument: a pattern that matches nothing ("did you mean"), a
// weight of a convolution or a table, or one that is read both ways, a rank above the smaller size of a weight.
absl::StatusOr<Model> WithAdapters(const Model& model, const Lora& lora, const OpRegistry& registry);

// "model.q" of "model.q.weight", "dense/matmul" of "dense/matmul/weights"; else the whole name.
std::string ModuleOf(const std::string& weight);

// The adapters of one weight.
struct Adapter {
  std::string module;      // "model.q" of "model.q.weight"
  std::string weight;      // the state that they adapt
  std::string a, b;        // the parameters
  double factor = 1;       // alpha / rank
  bool transposed = true;  // w is [out, in], as PyTorch has it; else [in, out]
};

// Those of a graph that WithAdapters made, one for each weight, in the order of the graph.
std::vector<Adapter> AdaptersOf(const Graph& graph);

}  // namespace partita

#endif  // PARTITA_GRAPH_READ_ADAPTED_MODEL_H_
