// The definition of an op: inputs, attributes, shape inference, legal layouts, gradient, cost. Kernels live elsewhere
// and are never named here. Definitions are explicit lists (ops/registry.h), passed as arguments.
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
#include "graph/ir/sample_rows.h"
#include "graph/optimizer/optimizer.h"
#include "graph/value/attribute_definition.h"

namespace partita {

// A node as its op sees it: attributes and the types of its inputs (and outputs, once inferred). Absent optional inputs
// have no entry: nullopt.
struct NodeView {
  const Attributes& attributes;
  std::vector<const TensorType*> inputs;  // nullptr: absent optional input
  std::vector<TensorType> outputs;        // empty while shapes are inferred
};

// One way to split a node over one mesh axis: the axis layout of each input and output. All splits of one rule cut at
// the same points: `unit` elements of that dimension form one unit of the split (nearly always 1; a reshape [n,t,c] ->
// [n*t,c] has units 1 and t; batch statistics of k samples have units k and 1), and cuts lie between units. For a
// dimension read by sliding windows, the units are the windows.
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

// `name` is the name of the split in a strategy file: "samples", "output_channels", "input_channels", "channels"; rules
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
  bool wide = false;       // stays f32 in mixed precision, for every precision of the op
  bool constant = false;   // receives no gradient, even if floating: a sample's weight, a running statistic
  bool updated = false;    // a state that this node alone updates in training
  bool gate = false;       // whether the step is applied: if 0, the node leaves its states unchanged
};

// The role by which the compiler and the runtime find an op. Everything else about an op is a property of its
// definition.
enum class Role : uint8_t {
  kCompute,  // none of the following
  // Sources
  kInput,      // an input of a step
  kParameter,  // a trained state
  kState,      // outlives a step; receives no gradient
  kConstant,
  // Layers, whose split a strategy chooses
  kConvolution,
  kProduct,
  // Results
  kLoss,
  kAccuracy,
  // A box of its input, which readers may read in place (graph/lower/view_columns.h)
  kSlice,
  // Ops that the compiler inserts: one op each
  kAdd,
  kConcat,
  kCast,
  kIncrement,
  kLearningRate,
  kSumOfSquares,
  kClipScale,
  kAllFinite,
  // Reads the rows of a table (input 0) that ids (input 1) select.
  kEmbedding,
  // Gradients of tables by rows (graph/derive/row_gradients.h): the dense one with inputs (table?, ids, dy), and the op
  // that merges rows with the same id.
  kTableGradient,
  kMergeRows,
};

// The precision of an op in mixed precision (graph/passes/mix_precision.h).
enum class Precision : uint8_t {
  kWide,     // f32: losses and their inputs, statistics, updates
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
  // The same for an op whose first input only determines the layout of the first output: that of a cotangent of `like`.
  // The node does not read it.
  virtual absl::StatusOr<std::vector<ValueId>> AddLike(ValueId /*like*/, const std::string& op,
                                                       std::vector<ValueId> inputs, Attributes attributes,
                                                       const std::string& base) {
    return Add(op, std::move(inputs), std::move(attributes), base);
  }
};

// Cotangents of the inputs, in the order of the inputs: kNoValue for inputs without a gradient (labels, counters).
// `cotangents`: those of the outputs; kNoValue for outputs without one (at least one has one). `wanted[i]`: whether any
// node uses the cotangent of input i; a gradient need not compute the others.
using Gradient = std::function<absl::StatusOr<std::vector<ValueId>>(GradientBuilder& builder, const Node& node,
                                                                    const std::vector<ValueId>& cotangents,
                                                                    const std::vector<bool>& wanted)>;

// Appends the nodes that replace a user's node in an entry point; implemented by graph/passes/prepare_entry.h.
class EntryBuilder {
 public:
  virtual ~EntryBuilder() = default;
  virtual const Graph& graph() const = 0;
  // Appends `op` with outputs of these names and returns them.
  virtual absl::StatusOr<std::vector<ValueId>> Add(const std::string& op, std::vector<ValueId> inputs,
                                                   Attributes attributes, const std::vector<std::string>& names) = 0;
  // The step's number, i32[]; kNoValue in evaluation.
  virtual ValueId iteration() const = 0;
  // An input of evaluation: the weight of each sample of the batch. The first caller fixes its type.
  virtual absl::StatusOr<ValueId> SampleWeight(const TensorType& type) = 0;
  // Sets the value of `state` after the step.
  virtual void SetUpdate(ValueId state, ValueId value) = 0;
  // Where a value has the samples of the batch; none: nowhere, or they influence each other in it.
  virtual std::optional<SampleRows> SamplesOf(ValueId value) = 0;
};

// Returns the values that replace the outputs of a user's node called `name`. `node` is a copy that reads values of the
// builder's graph.
using Preparation = std::function<absl::StatusOr<std::vector<ValueId>>(EntryBuilder& builder, const Node& node,
                                                                       const std::string& name)>;

// Decomposes a node if a strategy splits it in a way that its own rules lack but those of its pieces have
// (graph/passes/decompose.h). Every piece reads the node's first input and the pieces before it; `op` replaces the node
// and reads the node's inputs, then the pieces.
struct Decomposition {
  std::string split;  // its name in a strategy
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
  bool user = true;              // allowed in a graph proto (gradient ops, moves and updates are not)
  std::optional<MoveKind> move;  // a data movement between two layouts (graph/moves)

  // Returns the types of the outputs. Errors name the sizes that do not match. All arithmetic on sizes is checked.
  std::function<absl::StatusOr<std::vector<TensorType>>(const NodeView&)> shape;
  std::function<std::vector<Rule>(const NodeView&)> rules;
  Gradient gradient;  // empty: no gradient
  // True for a node of a linear op whose gradient is computed for each term of its cotangent separately. Terms of
  // several nodes, micro-batches and ranks are then summed after the gradient instead of before it. Empty: false for
  // all nodes.
  std::function<bool(const NodeView&)> gradient_of_terms;
  std::function<double(const NodeView&)> flops;  // floating-point operations of the whole (global) node
  // (input, output) pairs that may share an address: the kernel reads each element before it writes it.
  std::vector<std::pair<int, int>> in_place;
  // Not empty: nodes of the op may be launched as one (LocalNode::members) if they share these inputs and, unless
  // `members_differ`, their attributes.
  std::vector<int> together;
  bool members_differ = false;
  // Not -1: kernels of f32 nodes launched together also accept this input in bf16, as if it were cast.
  int takes_bf16 = -1;
  // Not -1: kernels of f32 nodes launched together also write this output rounded to bf16, if a node has a non-empty
  // output after those of the op.
  int rounds = -1;
  // Not -1: kernels treat this input, a scalar, as 1 if it is absent.
  int one_if_absent = -1;
  // Not -1: kernels can compute any box of the only output alone (LocalNode::within). If this input is split by windows
  // (the output has the windows at the same dimensions), they read only what the windows of those outputs span, and all
  // of the other inputs. Elements of a window beyond the ends of the tensor are zero.
  int windowed = -1;
  // True if the output has the input's bytes (reshape): the planner makes it a view if it can.
  bool view = false;
  // Not -1: the op needs whole rows of this input, [samples,classes].
  int classes = -1;
  // Refuses computation in blocks of this number of samples. Empty: any number is allowed if the op's rules can be
  // split.
  std::function<absl::Status(const NodeView&, int64_t samples)> check_micro_batch;
  // The replacement of a user's node in training and in evaluation. Empty: the node itself.
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
    kLast,       // on the final graph: keeps every value that a gradient reads
  };
  std::string name;
  When when = When::kLast;
  std::function<Graph(Graph, const OpRegistry&)> apply;
  bool for_gpu = false;  // no host kernel is faster with it (ProgramOptions::for_gpu)
};

// The list of ops, their fusions in order, and the optimizers. Immutable after construction; definitions have stable
// addresses.
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
