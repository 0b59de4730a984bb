// A strategy: the meshes, and explicit settings for single ops. Everything else follows by rule (docs/derivation.md 1).
#ifndef PARTITA_GRAPH_DERIVE_STRATEGY_H_
#define PARTITA_GRAPH_DERIVE_STRATEGY_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "absl/status/statusor.h"
#include "graph/derive/pipeline.h"
#include "graph/ir/graph.h"
#include "graph/ir/op_definition.h"
#include "graph/moves/plan_exchange.h"

namespace partita {

// The split of an op over one mesh axis: one of its rules by name ("samples", "output_channels", ...), whole on every
// rank ("replicate"), or on one rank of the axis ("at").
struct AxisConfig {
  std::string split;          // the rule's name, "replicate" or "at"
  int coordinate = 0;         // of "at"
  std::vector<int64_t> cuts;  // explicit cut points in units of the split; empty: balanced
};

// One entry of a strategy. `pattern` is a node's name or a pattern with '*' (any run of characters) and '?'; the first
// entry that matches a node and names an axis decides that axis. For a parameter, `update` sets the split of its update
// over an axis: "dimension0" of the update split over `data` is sharded optimizer state (docs/derivation.md 4.5). All
// axes of `axes` are of one mesh, and so are all of `update`: it is the mesh that the node lies on.
struct OpConfig {
  std::string pattern;
  std::map<std::string, AxisConfig> axes;    // by the name of an axis of a mesh
  std::map<std::string, AxisConfig> update;  // parameters only
};

// Splits the batch into parts that run in turn (graph/passes/unroll_micro_batches.h) through stages: the coordinates of
// `stage_axis`, or the further meshes `stage_meshes`, in this order. Neither: one stage.
struct Pipeline {
  int64_t micro_batches = 1;  // of equal size
  std::string stage_axis;     // a mesh axis over which ops lie "at" their stage
  PipelineOrder order = PipelineOrder::kOneForwardOneBackward;
  std::vector<std::string> stage_meshes = {};  // names
};

// How the gradients of layers' inputs, which are sums over the ranks that share a layer, are reduced.
enum class InputGradients : uint8_t {
  kReduceScatter,  // each rank gets the part that its next node needs, also if a reshape lies in between
  kAllReduce,      // as Gholami et al. do (1712.04432, section 2): whole, and cut behind the reshape
};
// "reduce_scatter", "all_reduce".
const char* Name(InputGradients input_gradients);
std::vector<std::string> InputGradientsNames();
std::optional<InputGradients> FindInputGradients(const std::string& name);

// Nodes, by names or patterns, whose values training recomputes in the backward pass instead of keeping them, except
// values read outside of the block (graph/recompute/recompute.h). A node belongs to the first block that matches it.
struct RecomputedBlock {
  std::vector<std::string> nodes;
  bool operator==(const RecomputedBlock&) const = default;
};

struct Strategy {
  Mesh mesh;  // has all ranks
  std::vector<OpConfig> ops;
  int64_t bucket_bytes = -1;  // gradient bucket size; 0: no buckets; -1: chosen (graph/passes/bucket_all_reduces.h)
  Pipeline pipeline = {};
  std::optional<ExchangeMode> exchanges = {};  // how tiles reach several receivers; unset: the fastest way
  InputGradients input_gradients = InputGradients::kReduceScatter;
  std::vector<Mesh> further_meshes = {};  // with names, of ranks of the first one
  std::vector<RecomputedBlock> recompute = {};
};

// All of them, the first one first, each with its id.
std::vector<Mesh> MeshesOf(const Strategy& strategy);

// The explicit settings of one node: its mesh, and its split over each axis of that mesh.
struct NodeConfig {
  int mesh = -1;                                // -1: not set
  std::vector<std::optional<AxisConfig>> axes;  // per axis of the mesh; empty: none is set
};

// Finds the entries that match a name without visiting all of them: a table finds exact names, and the prefix before
// the first '*' or '?' finds patterns. The strategy must outlive the index. Thread-compatible.
class StrategyIndex {
 public:
  explicit StrategyIndex(const Strategy& strategy);
  // Ascending indices into Strategy::ops, valid until the next call. The last answer is cached, because callers ask for
  // the micro-batches of a node one after the other.
  const std::vector<int>& Matching(const std::string& name) const;
  // The same, and subtracts the approximate number of compared characters from `comparisons`. Gives up below 0.
  const std::vector<int>& Matching(const std::string& name, int64_t& comparisons) const;
  int patterns() const { return patterns_; }
  const std::vector<Mesh>& meshes() const { return meshes_; }

 private:
  const Strategy& strategy_;
  const std::vector<Mesh> meshes_;
  std::unordered_map<std::string, std::vector<int>> exact_;
  // Patterns by their prefix, grouped by its length.
  std::map<size_t, std::unordered_map<std::string, std::vector<int>>> by_beginning_;
  int patterns_ = 0;
  mutable std::string name_;
  mutable std::vector<int> matching_;
};

// The legal splits of a node of a verified graph.
std::vector<Rule> RulesOf(const Graph& graph, const Node& node);

// Checks a strategy against a forward graph: patterns that match nothing, axes and splits that do not exist (did you
// mean), coordinates off the axis, cuts that do not cover, a mesh axis of size < 1, a stage axis or mesh that does not
// exist; entries with axes of two meshes, meshes that have a rank twice or one that the first mesh does not have,
// another number of ranks than places, or an axis that another mesh has; recomputed blocks without a node; sizes above
// graph/value/limits.h.
absl::Status CheckStrategy(const Strategy& strategy, const Graph& forward);

}  // namespace partita

#endif  // PARTITA_GRAPH_DERIVE_STRATEGY_H_
