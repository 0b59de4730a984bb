// A layer alone, as the compiler makes it: partitioned, with its gradients, joined as training runs it.
#ifndef PARTITA_PARTITIONER_TABLES_LAYER_PROGRAM_H_
#define PARTITA_PARTITIONER_TABLES_LAYER_PROGRAM_H_

#include <set>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "graph/ir/op_definition.h"
#include "graph/value/layout.h"
#include "partitioner/tables/choice.h"
#include "partitioner/tables/layers.h"

namespace partita {

struct LayerProgram {
  Graph graph;
  std::vector<Layout> reads, makes;     // as in LayerCost
  std::set<std::string> read_names;     // of what the layer reads of others
  std::set<std::string> brought_back;   // moves of gradients to what the layer reads: those of an edge, not its own
  std::set<std::string> synchronizing;  // moves of gradients to parameters
  bool by_rows = false;                 // its parameters are tables; a step changes a few of their rows
};

// kInvalidArgument: the layer cannot lie so. `for_gpu`: with the fusions by which kernels of a GPU alone gain.
absl::StatusOr<LayerProgram> MakeLayerProgram(const LayerGraph& layers, const OpLayer& layer, const Mesh& mesh,
                                              const Choice& choice, const OpRegistry& registry, bool for_gpu);

}  // namespace partita

#endif  // PARTITA_PARTITIONER_TABLES_LAYER_PROGRAM_H_
