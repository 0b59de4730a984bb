// One op of the table (tests/ops/op_cases.h) as a program: its inputs, the op, and its gradient for given cotangents of
// its outputs, on one rank or on a mesh.
//
// Every input enters as a value of its own, in the layout that is asked for; outputs and gradients are brought to every
// rank at the end, so what is compared is whole.
#ifndef PARTITA_TESTS_GRADIENTS_OP_PROGRAM_H_
#define PARTITA_TESTS_GRADIENTS_OP_PROGRAM_H_

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "graph/derive/strategy.h"
#include "runtime/api/session.h"
#include "tests/ops/op_cases.h"

namespace partita {

// How the op lies on a mesh.
struct OpPlacement {
  Mesh mesh{{{"a", 1}}};
  std::vector<std::optional<AxisConfig>> configs;  // per axis, as a strategy names it; nullopt: follows its inputs
  std::vector<Layout> inputs;                      // in which they enter; empty: all R
};

// Whole tensors, row-major.
using Tensors = std::vector<std::vector<double>>;

struct OpResult {
  Tensors outputs;
  Tensors gradients;                  // by input; empty where the input has none
  bool replicas_equal = true;         // of every value of the program, wherever a layout says R
  std::vector<MoveBytes> moved_more;  // counted less predicted bytes, by group
};

class OpProgram {
 public:
  // kInvalidArgument: the op cannot lie so.
  static absl::StatusOr<std::unique_ptr<OpProgram>> Start(const OpCase& op_case, const OpPlacement& placement);

  // One step. `inputs` by input of the case (absent ones: empty), `cotangents` by output (ignored without a gradient).
  absl::StatusOr<OpResult> Run(const Tensors& inputs, const Tensors& cotangents);

  // The node itself, in the partitioned graph.
  const Graph& graph() const { return session_->graph(kTrainEntry); }
  const Node& node() const { return graph().node(op_node_); }

 private:
  OpProgram() = default;
  absl::Status Build(const OpCase& op_case, const OpPlacement& placement, Program& program);
  absl::Status AppendGradient(class LayoutBuilder& builder, const OpCase& op_case);
  absl::Status Stage(const std::string& name, const std::vector<double>& whole);
  absl::StatusOr<std::vector<double>> Whole(const std::string& name, OpResult& result) const;

  std::unique_ptr<Session> session_;
  NodeId op_node_ = -1;
  std::vector<std::string> inputs_, cotangents_, outputs_, gradients_;  // names of values; "": none
};

// Random inputs of a case, and random cotangents for its outputs: 0 where none arrives.
Tensors InputsOf(const OpCase& op_case, uint64_t seed);
Tensors CotangentsOf(const OpCase& op_case, uint64_t seed);

}  // namespace partita

#endif  // PARTITA_TESTS_GRADIENTS_OP_PROGRAM_H_
