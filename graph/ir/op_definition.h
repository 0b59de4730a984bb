// The definition of an op: inputs, attributes, shape inference, legal layouts, gradient, cost. Kernels (how it is
// computed) live elsewhere and are never named here. Definitions are explicit lists (ops/registry.h), passed where they
// are needed.
#ifndef PARTITA_GRAPH_IR_OP_DEFINITION_H_
#define PARTITA_GRAPH_IR_OP_DEFINITION_H_

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "graph/ir/graph.h"
#include "graph/ir/move_kind.h"
#include "graph/optimizer/optimizer.h"
#include "graph/value/attribute_definition.h"

namespace partita {

// A node seen by its op: attributes and the types of its inputs (and outputs, once inferred). Absent optional inputs
// have no entry: nullopt.
struct NodeView {
  const Attributes& attributes;
  std::vector<const TensorType*> inputs;  // nullptr: absent optional input
  std::vector<TensorType> outputs;        // empty while shapes are inferred
};

// One way a node may be split over one mesh axis: which axis layout each input and output then has. All splits of one
// rule cut at the same places: `unit` elements of that dimension belong to one unit of the split (1 nearly always; a
// reshape [n,t,c] -> [n*t,c] has units 1 and t; batch statistics of k samples have units k and 1), and cuts lie between
// units. Of a dimension that is read by sliding windows the units are the windows.
struct Pattern {
  AxisLayout::Kind kind = AxisLayout::Kind::kReplicate;
  int dimension = 0;
  int64_t unit = 1;
  Reduction reduction = Reduction::kSum;
  std::optional<Windows> windows = std::nullopt;
};
inline Pattern S(int dimension, int64_t unit = 1) {
  return {AxisLayout::Kind::kSplit, dimension, unit, Reduction::kSum};
}
inline Pattern S(int dimension, const Windows& windows) {
  return {AxisLayout::Kind::kSplit, dimension, 1, Reduction::kSum, windows};
}
inline Pattern R() { return {}; }
inline Pattern P(Reduction reduction = Reduction::kSum) { return {AxisLayout::Kind::kPartial, 0, 1, reduction}; }

// `name` is what a strategy file calls the split: "samples", "output_channels", "input_channels", "channels"; rules
// that only carry a P through ("partial") cannot be named. All-R and all-At(c) are legal for every op and are not
// listed.
struct Rule {
  std::string name;
  std::vector<Pattern> inputs;  // one per declared input (entries of absent optional inputs are ignored); a variadic op
                                // lists one per actual input
  std::vector<Pattern> outputs;
};

struct InputDefinition {
  std::string name;
  bool optional = false;
  bool parameter = false;  // a weight-like input: in an unnamed op its layout follows the first activation input
  bool wide = false;       // in mixed precision f32, whatever the op computes in
  bool constant = false;   // no gradient flows to it, whatever its type: a sample's weight, a running statistic
  bool updated = false;    // a state that training gives a new value: of this node alone
  bool gate = false;       // whether the step is applied: where it is 0 the node leaves what it updates as it was
};

// What the compiler and those who run its programs know an op by, where they ask for one or build with it. Everything
// else about an op is a property of its definition.
enum class Role : uint8_t {
  kCompute,  // none of the following
  // Sources
  kInput,      // what a step is given
  kParameter,  // a state that is trained
  kState,      // outlives a step; no gradient reaches it
  kConstant,
  // Layers, whose split a strategy chooses
  kConvolution,
  kProduct,
  // Results
  kLoss,
  kAccuracy,
  // A box of what it reads, which others may read where it lies (graph/lower/view_columns.h)
  kSlice,
  // What the compiler builds with: one op each
  kAdd,
  kConcat,
  kCast,
  kIncrement,
  kLearningRate,
  kSumOfSquares,
  kClipScale,
  kAllFinite,
  // Reads rows of a table, input 0, that ids choose, input 1.
  kEmbedding,
  // Gradients of tables by rows (graph/derive/row_gradients.h): the dense one of inputs (table?, ids, dy), and what
  // makes one row of all rows with the same id.
  kTableGradient,
  kMergeRows,
};

// What an op computes in where a graph is run in mixed precision (graph/passes/mix_precision.h).
enum class Precision : uint8_t {
  kWide,     // f32: losses, what they are made from, statistics, updates
  kFollows,  // bf16 if one of its inputs is
  kNarrow,   // bf16
};

// Appends gradient nodes; implemented by the adjoint pass (graph/derive/adjoint.h), which chooses layouts and inserts
// moves.
class GradientBuilder {
 public:
  virtual ~GradientBuilder() = default;
  virtual const Graph& graph() const = 0;
  // Appends `op` with these inputs and returns its outputs. Names are generated from `base`: "<base>@d" for cotangents.
  virtual absl::StatusOr<std::vector<ValueId>> Add(const std::string& op, std::vector<ValueId> inputs,
                                                   Attributes attributes, const std::string& base) = 0;
  // The same of an op whose first input only says how the first output shall lie: as a cotangent of `like`. The node
  // does not read it.
  virtual absl::StatusOr<std::vector<ValueId>> AddLike(ValueId /*like*/, const std::string& op,
                                                       std::vector<ValueId> inputs, Attributes attributes,
                                                       const std::string& base) {
    return Add(op, std::move(inputs), std::move(attributes), base);
  }
};

// Cotangents of the inputs, in the order of the inputs: kNoValue where no gradient flows (labels, counters).
// `cotangents`: those of the outputs; kNoValue where none arrived (at least one has). `wanted[i]`: whether any node
// uses the cotangent of input i; a gradient need not compute the others.
using Gradient = std::function<absl::StatusOr<std::vector<ValueId>>(GradientBuilder& builder, const Node& node,
                                                                    const std::vector<ValueId>& cotangents,
                                                                    const std::vector<bool>& wanted)>;

// Appends what a user's node means in an entry point; implemented by graph/passes/prepare_entry.h.
class EntryBuilder {
 public:
  virtual ~EntryBuilder() = default;
  virtual const Graph& graph() const = 0;
  // Appends `op` with outputs of these names and returns them.
  virtual absl::StatusOr<std::vector<ValueId>> Add(const std::string& op, std::vector<ValueId> inputs,
                                                   Attributes attributes, const std::vector<std::string>& names) = 0;
  // The step's number, i32[]; kNoValue in evaluation.
  virtual ValueId iteration() const = 0;
  // An input of evaluation: what each sample of the batch counts. The first caller fixes its type.
  virtual absl::StatusOr<ValueId> SampleWeight(const TensorType& type) = 0;
  // What `state` is after the step.
  virtual void SetUpdate(ValueId state, ValueId value) = 0;
  // Where the first dimension of a value are the samples of the batch: how many rows of it belong to each; else 0.
  virtual int64_t RowsOfASample(ValueId value) = 0;
};

// The values that stand for the outputs of a user's node called `name`. `node` is a copy that reads values of the
// builder's graph.
using Preparation = std::function<absl::StatusOr<std::vector<ValueId>>(EntryBuilder& builder, const Node& node,
                                                                       const std::string& name)>;

// How a node is taken apart where a strategy splits it in a way that its own rules do not have and those of its pieces
// do (graph/passes/decompose.h). Every piece reads the node's first input and the pieces before it; `op` takes the
// node's place and reads the node's inputs, then the pieces.
struct Decomposition {
  std::string split;  // what a strategy calls it
  struct Piece {
    std::string op;
    std::string name;  // the piece is called "<node>@<name>"
  };
  std::vector<Piece> pieces;
  std::string op;
};

struct OpDefinition {
  std::string name;
  std::vector<InputDefinition> inputs;
  bool variadic = false;  // the last declared input may be repeated (add, concat, bucketed all_reduce)
  int outputs = 1;
  std::vector<AttributeDefinition> attributes;
  Role role = Role::kCompute;
  bool user = true;              // may appear in a graph proto (gradient ops, moves and updates may not)
  std::optional<MoveKind> move;  // a data movement between two layouts (graph/moves)

  // Types of the outputs. Names the sizes that do not meet. All arithmetic on sizes is checked.
  std::function<absl::StatusOr<std::vector<TensorType>>(const NodeView&)> shape;
  std::function<std::vector<Rule>(const NodeView&)> rules;
  Gradient gradient;  // empty: no gradient flows through
  // True for a node of a linear op whose gradient is taken of every term of its cotangent by itself, before terms of
  // several nodes, micro-batches and ranks are added: what is added then is the results. Empty: of none.
  std::function<bool(const NodeView&)> gradient_of_terms;
  std::function<double(const NodeView&)> flops;  // floating-point operations of the whole (global) node
  // (input, output) pairs that may lie at the same address: the kernel reads each element before it writes it.
  std::vector<std::pair<int, int>> in_place;
  // Not empty: nodes of the op may be launched as one (LocalNode::members) if these inputs are the same for all of
  // them, and their attributes, unless `members_differ`.
  std::vector<int> together;
  bool members_differ = false;
  // Not -1: of f32 nodes launched together kernels take this input in bf16 as well, as if it was cast.
  int takes_bf16 = -1;
  // Not -1: of f32 nodes launched together kernels write this output once more, rounded to bf16, where a node has an
  // output behind those of the op that is not empty.
  int rounds = -1;
  // Not -1: where a launch lacks this input, a scalar, kernels take it as 1.
  int one_if_absent = -1;
  // Not -1: kernels can compute any box of the only output alone (LocalNode::within). Of this input they read what the
  // windows of those outputs span, where it is split by windows (the output has the windows at the same dimensions),
  // and all of the other inputs. What a window sees beyond the ends of the tensor is zero.
  int windowed = -1;
  // True if the output is the input's bytes (reshape): the planner makes it a view where it can.
  bool view = false;
  // Not -1: of this input, [samples,classes], the op looks at whole rows.
  int classes = -1;
  // Refuses computation in blocks of this number of samples. Empty: any number is allowed if the op's rules can be
  // split.
  std::function<absl::Status(const NodeView&, int64_t samples)> check_micro_batch;
  // What stands for a user's node in training and in evaluation. Empty: the node itself.
  Preparation in_training, in_evaluation;
  std::optional<Decomposition> decomposition;
  Precision precision = Precision::kWide;

  const AttributeDefinition* FindAttribute(const std::string& attribute) const;
  // Outlives a step.
  bool is_state() const { return role == Role::kParameter || role == Role::kState; }
};

class OpRegistry;

// A rewriting of nodes into fewer nodes that compute the same, for speed. It knows the ops that it joins.
struct Fusion {
  enum class When : uint8_t {
    kForward,    // on the forward graph of an entry point, before it is partitioned
    kGradients,  // on the partitioned graph of training with its gradients
    kLast,       // on the graph as it will run: a value that a gradient reads stays
  };
  std::string name;
  When when = When::kLast;
  std::function<Graph(Graph, const OpRegistry&)> apply;
  bool for_gpu = false;  // no kernel of the host gains by it (ProgramOptions::for_gpu)
};

// The ops that exist, the fusions that they bring, in their order, and the optimizers. Immutable after construction;
// definitions have stable addresses.
class OpRegistry {
 public:
  explicit OpRegistry(std::vector<OpDefinition> definitions, std::vector<Fusion> fusions = {},
                      Optimizers optimizers = {});
  OpRegistry(const OpRegistry&) = delete;
  OpRegistry& operator=(const OpRegistry&) = delete;

  const OpDefinition* Find(const std::string& name) const;  // nullptr if unknown
  const OpDefinition& Get(Role role) const;                 // the only op in this role (CHECKed)
  const OpDefinition& Get(MoveKind move) const;             // the same
  std::vector<std::string> Names() const;                   // sorted
  const std::vector<Fusion>& fusions() const { return fusions_; }
  const Optimizers& optimizers() const { return optimizers_; }

 private:
  std::map<std::string, OpDefinition> definitions_;
  std::map<Role, const OpDefinition*> by_role_;  // nullptr: several
  std::map<MoveKind, const OpDefinition*> by_move_;
  std::vector<Fusion> fusions_;
  Optimizers optimizers_;
};

absl::StatusOr<Attributes> CompleteAttributes(const OpDefinition& op, const Attributes& given);

}  // namespace partita

#endif  // PARTITA_GRAPH_IR_OP_DEFINITION_H_
