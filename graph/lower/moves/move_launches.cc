#include "graph/lower/moves/move_launches.h"

#include <algorithm>
#include <utility>

#include "graph/ir/op_definition.h"
#include "runtime/base/status.h"

namespace partita {

absl::Status MoveLaunches::Misfit(const HeldMove& move) const {
  const Value& input = graph_.value(move.input);
  const Value& output = graph_.value(move.output);
  return Internal("move '{}': {} over '{}' does not lead from {}{} {} to {}{} {}", output.name,
                  graph_.node(move.node).op->name, Over(graph_.node(move.node)), Name(input.type.dtype),
                  ToString(input.type.shape), ToString(input.layout, graph_.mesh(input.layout)),
                  Name(output.type.dtype), ToString(output.type.shape),
                  ToString(output.layout, graph_.mesh(output.layout)));
}

std::string MoveLaunches::Over(const Node& move) const {
  return fmt::format("{}", fmt::join(NamesOf(KeyOf(graph_, move), graph_.meshes()), ","));
}

TensorId MoveLaunches::NewOutput(ValueId value) {
  if (!local_.Holds(value)) return -1;
  const TensorId tensor =
      out_.AddTensor({local_.values[value]->bytes(), MemoryKind::kActivation, graph_.value(value).name, -1, 0});
  out_.tensor_of[value] = tensor;
  return tensor;
}

TensorId MoveLaunches::NewTemporary(NodeId node, const std::string& suffix, int64_t bytes) {
  return out_.AddTensor({bytes, MemoryKind::kWorkspace, graph_.name(node) + suffix, -1, 0});
}

LocalLaunch& MoveLaunches::Append(NodeId node, const std::string& suffix) {
  LocalLaunch& launch = out_.launches.emplace_back();
  launch.name = graph_.name(node) + suffix;
  launch.node = node;
  launch.phase = graph_.node(node).phase;
  return launch;
}

void MoveLaunches::AppendCopy(NodeId node, const char* suffix, std::vector<BoxCopy> copies, TensorId from,
                              TensorId to) {
  LocalCopies work;
  work.copies.reserve(copies.size());
  for (BoxCopy& boxes : copies) work.copies.push_back({std::move(boxes), from, to});
  Append(node, suffix).work = std::move(work);
}

absl::Status MoveLaunches::AppendKernel(NodeId node, const std::string& suffix, LocalKernel kernel) {
  ASSIGN_OR_RETURN(kernel.choice, kernels_.Choose(kernel.node));
  kernel.workspace = out_.AddWorkspace(kernel.choice, graph_.name(node));
  Append(node, suffix).work = std::move(kernel);
  return absl::OkStatus();
}

LocalLaunch& MoveLaunches::AppendAssembly(const HeldMove& move, const char* suffix, const HeldBox& own,
                                          const std::vector<HeldBox>& blocks, TensorId arrived) {
  const Box& whole = *move.own_to();
  const TensorId output = NewOutput(move.output);
  LocalCopies assembly;
  if (Count(own) + TotalCount(blocks) < whole.elements()) assembly.zeroed = output;
  if (own) {
    assembly.copies.push_back(
        {CopyOf(*own, *move.own_from(), whole, move.type.dtype), out_.tensor_of[move.input], output});
  }
  for (BoxCopy& copy : UnpackCopies(arrived < 0 ? std::vector<HeldBox>{} : blocks, whole, move.type.dtype)) {
    assembly.copies.push_back({std::move(copy), arrived, output});
  }
  LocalLaunch& launch = Append(move.node, suffix);
  launch.work = std::move(assembly);
  return launch;
}

LocalLaunch& MoveLaunches::AppendCollective(NodeId node, CollectiveLaunch collective, TensorId input, TensorId output,
                                            const std::string& suffix) {
  LocalLaunch& launch = Append(node, suffix);
  if (input != kNoTensor) collective.input = std::max<int64_t>(collective.input, 0);
  if (output != kNoTensor) collective.output = std::max<int64_t>(collective.output, 0);
  launch.work = LocalCollective{std::move(collective), input, output};
  return launch;
}

TensorId MoveLaunches::Packed(const HeldMove& move, const std::vector<HeldBox>& blocks) {
  if (TotalCount(blocks) == 0) return -1;
  const Box& whole = *move.own_from();
  const TensorId from = out_.tensor_of[move.input];
  if (FollowEachOther(blocks, whole)) return from;
  const TensorId packed = NewTemporary(move.node, "/packed", move.bytes(TotalCount(blocks)));
  AppendCopy(move.node, "/pack", PackCopies(blocks, whole, move.type.dtype), from, packed);
  return packed;
}

}  // namespace partita
