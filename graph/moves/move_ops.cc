#include "graph/moves/move_ops.h"

#include "graph/ir/group_key.h"
#include "graph/moves/plan_exchange.h"

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

OpDefinition Exchange(const std::string& name) {
  OpDefinition op = Move(name);
  op.attributes.push_back({"mode", std::string(Name(ExchangeMode::kDirect)), false});
  op.attributes.push_back({"chunks", int64_t{1}, false});
  return op;
}

}  // namespace

std::vector<OpDefinition> MoveDefinitions() {
  std::vector<OpDefinition> moves;
  for (const char* name : {"all_reduce", "all_gather", "reduce_scatter", "broadcast", "sum_reduce", "slice_move",
                           "drop", "zero_extend", "halo_exchange", "halo_exchange_adjoint"}) {
    moves.push_back(Move(name));
  }
  for (const char* name : {"send", "gather", "scatter", "repartition", kReshard}) moves.push_back(Exchange(name));
  std::erase_if(moves.back().attributes, [](const AttributeDefinition& attribute) { return attribute.name == "axes"; });
  moves[0].variadic = true;
  moves[0].in_place = {{0, 0}};
  return moves;
}

}  // namespace partita
