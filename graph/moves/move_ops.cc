#include "graph/moves/move_ops.h"

#include <fmt/format.h>

namespace partita {
namespace {

OpDefinition Move(const std::string& name) {
  OpDefinition op;
  op.name = name;
  op.inputs = {{"x"}};
  op.attributes = {{"axes", std::string(), true}};
  op.user = false;
  op.move = true;
  op.shape = [](const NodeView& node) -> absl::StatusOr<std::vector<TensorType>> {
    std::vector<TensorType> types;
    for (const TensorType* input : node.inputs) types.push_back(*input);
    return types;
  };
  op.rules = [](const NodeView&) { return std::vector<Rule>(); };
  op.flops = [](const NodeView&) { return 0.0; };
  return op;
}

}  // namespace

std::vector<OpDefinition> MoveDefinitions() {
  std::vector<OpDefinition> moves;
  for (const char* name :
       {"all_reduce", "all_gather", "reduce_scatter", "broadcast", "sum_reduce", "send", "gather", "scatter",
        "slice_move", "drop", "zero_extend", "repartition", "halo_exchange", "halo_exchange_adjoint"}) {
    moves.push_back(Move(name));
  }
  moves[0].variadic = true;
  moves[0].in_place = {{0, 0}};
  return moves;
}

bool Communicates(const Node& move) {
  const std::string& op = move.op->name;
  return op != "slice_move" && op != "drop" && op != "zero_extend";
}

std::vector<int> MoveAxes(const Node& node, const Mesh& mesh) {
  const std::string& names = node.attributes.String("axes");
  std::vector<int> axes;
  for (size_t begin = 0; begin <= names.size();) {
    size_t end = names.find(',', begin);
    if (end == std::string::npos) end = names.size();
    const int axis = mesh.AxisIndex(names.substr(begin, end - begin));
    CHECK(axis >= 0);
    axes.push_back(axis);
    begin = end + 1;
  }
  return axes;
}

std::string AxesName(const std::vector<int>& axes, const Mesh& mesh) {
  std::string text;
  for (int axis : axes) text += fmt::format("{}{}", text.empty() ? "" : ",", mesh.axes[axis].name);
  return text;
}

}  // namespace partita
