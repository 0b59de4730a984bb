#include "graph/moves/move_ops.h"

#include <utility>

#include "graph/moves/plan_exchange.h"

namespace partita {
namespace {

OpDefinition Move(MoveKind kind) {
  OpDefinition op;
  op.name = Name(kind);
  op.inputs = {{"x"}};
  op.attributes = {{"axes", std::string(), true}};
  op.user = false;
  op.move = kind;
  op.shape = [](const NodeView& node) -> absl::StatusOr<std::vector<TensorType>> {
    std::vector<TensorType> types;
    for (const TensorType* input : node.inputs) types.push_back(*input);
    return types;
  };
  op.rules = [](const NodeView&) { return std::vector<Rule>(); };
  op.flops = [](const NodeView&) { return 0.0; };
  return op;
}

OpDefinition Exchange(MoveKind kind) {
  OpDefinition op = Move(kind);
  op.attributes.push_back({"mode", std::string(Name(ExchangeMode::kDirect)), false});
  op.attributes.push_back({"chunks", int64_t{1}, false});
  return op;
}

}  // namespace

const char* Name(MoveKind kind) {
  switch (kind) {
    case MoveKind::kAllReduce:
      return "all_reduce";
    case MoveKind::kAllGather:
      return "all_gather";
    case MoveKind::kReduceScatter:
      return "reduce_scatter";
    case MoveKind::kBroadcast:
      return "broadcast";
    case MoveKind::kSumReduce:
      return "sum_reduce";
    case MoveKind::kSend:
      return "send";
    case MoveKind::kGather:
      return "gather";
    case MoveKind::kScatter:
      return "scatter";
    case MoveKind::kSlice:
      return "slice_move";
    case MoveKind::kDrop:
      return "drop";
    case MoveKind::kZeroExtend:
      return "zero_extend";
    case MoveKind::kRepartition:
      return "repartition";
    case MoveKind::kReshard:
      return "reshard";
    case MoveKind::kHalo:
      return "halo_exchange";
    case MoveKind::kHaloAdjoint:
      return "halo_exchange_adjoint";
  }
  return "?";
}

std::vector<OpDefinition> MoveDefinitions() {
  OpDefinition all_reduce = Move(MoveKind::kAllReduce);
  all_reduce.variadic = true;
  all_reduce.in_place = {{0, 0}};
  OpDefinition reshard = Exchange(MoveKind::kReshard);
  std::erase_if(reshard.attributes, [](const AttributeDefinition& attribute) { return attribute.name == "axes"; });
  std::vector<OpDefinition> moves = {std::move(all_reduce), std::move(reshard)};
  for (const MoveKind kind :
       {MoveKind::kAllGather, MoveKind::kReduceScatter, MoveKind::kBroadcast, MoveKind::kSumReduce, MoveKind::kSlice,
        MoveKind::kDrop, MoveKind::kZeroExtend, MoveKind::kHalo, MoveKind::kHaloAdjoint}) {
    moves.push_back(Move(kind));
  }
  for (const MoveKind kind : {MoveKind::kSend, MoveKind::kGather, MoveKind::kScatter, MoveKind::kRepartition}) {
    moves.push_back(Exchange(kind));
  }
  return moves;
}

}  // namespace partita
