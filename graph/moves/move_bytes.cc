#include "graph/moves/move_bytes.h"

#include <optional>

#include "graph/ir/op_definition.h"
#include "graph/moves/elements_of_ranks.h"

namespace partita {
namespace {

int64_t BoxBytes(const std::optional<Box>& box, DType dtype) { return box ? box->elements() * SizeOf(dtype) : 0; }

// Bytes of blocks that change rank. The blocks of the source do not overlap within a group unless they are replicas;
// then one of them is sent, and nothing to a rank that holds its part already. Margins are nobody's.
int64_t BlocksThatChangeRank(const Layout& from, const Mesh& from_mesh, const Layout& to, const Mesh& to_mesh,
                             const TensorType& type, const std::vector<int>& ranks) {
  int64_t bytes = 0;
  for (int rank : ranks) {
    std::optional<Box> wanted = LocalBox(to, type.shape, to_mesh, rank);
    if (!wanted) continue;
    wanted = Intersect(*wanted, WholeBox(type.shape));
    const std::optional<Box> held = LocalBox(from, type.shape, from_mesh, rank);
    bytes += BoxBytes(wanted, type.dtype);
    if (held) bytes -= BoxBytes(Intersect(*wanted, *held), type.dtype);
  }
  return bytes;
}

bool MovesBoxes(MoveKind kind) {
  return kind == MoveKind::kSend || kind == MoveKind::kGather || kind == MoveKind::kScatter ||
         kind == MoveKind::kRepartition || kind == MoveKind::kHalo;
}

// On which side of the others a rank holds the full buffer: where the axes are not split.
bool IsFullAtEnd(MoveKind kind) { return kind == MoveKind::kAllGather || kind == MoveKind::kBroadcast; }

// Of the full buffer, how often it leaves a rank.
int64_t Passes(MoveKind kind, int64_t ranks) { return (kind == MoveKind::kAllReduce ? 2 : 1) * (ranks - 1); }

// Of one that communicates, in all groups: BytesOfMove, summed.
int64_t WireBytesOfStep(const Layout& from, const MoveStep& step, const TensorType& type, const Mesh& mesh) {
  int64_t ranks = 1;
  for (const int axis : step.axes) ranks *= mesh.axes[axis].size;
  if (ranks == 1) return 0;
  const int64_t size = SizeOf(type.dtype);
  if (MovesBoxes(step.kind)) return size * ElementsThatChangeRank(from, step.to, type.shape, mesh);
  if (step.kind == MoveKind::kHaloAdjoint) return size * ElementsThatChangeRank(step.to, from, type.shape, mesh);
  const Layout& full = IsFullAtEnd(step.kind) ? step.to : from;
  return Passes(step.kind, ranks) * size * ElementsHeld(full, type.shape, mesh, step.axes);
}

}  // namespace

MoveBytes BytesOfMove(MoveKind kind, const Layout& from, const Layout& to, const TensorType& type, const Mesh& mesh,
                      const std::vector<int>& ranks) {
  const auto count = static_cast<int64_t>(ranks.size());
  if (StaysOnRanks(kind) || count == 1) return {};
  if (MovesBoxes(kind)) {
    const int64_t bytes = BlocksThatChangeRank(from, mesh, to, mesh, type, ranks);
    return {bytes, bytes};
  }
  if (kind == MoveKind::kHaloAdjoint) {  // the way back
    const int64_t bytes = BlocksThatChangeRank(to, mesh, from, mesh, type, ranks);
    return {bytes, bytes};
  }
  const Layout& full = IsFullAtEnd(kind) ? to : from;
  const int64_t n = BoxBytes(LocalBox(full, type.shape, mesh, ranks[0]), type.dtype);
  return {n, Passes(kind, count) * n};
}

MoveBytes BytesOfReshard(const Layout& from, const Mesh& from_mesh, const Layout& to, const Mesh& to_mesh,
                         const TensorType& type) {
  const int64_t bytes = BlocksThatChangeRank(from, from_mesh, to, to_mesh, type, to_mesh.Ranks());
  return {bytes, bytes};
}

MoveBytes BytesOfNode(const Graph& graph, const Node& move, const std::vector<int>& ranks) {
  const Mesh& mesh = graph.mesh(move.inputs[0]);
  if (move.op->move == MoveKind::kReshard) {
    return BytesOfReshard(graph.layout(move.inputs[0]), mesh, graph.layout(move.outputs[0]),
                          graph.mesh(move.outputs[0]), graph.type(move.inputs[0]));
  }
  MoveBytes bytes;
  for (size_t i = 0; i < move.inputs.size(); ++i) {
    const Value& from = graph.value(move.inputs[i]);
    bytes += BytesOfMove(*move.op->move, from.layout, graph.layout(move.outputs[i]), from.type, mesh, ranks);
  }
  return bytes;
}

bool Communicates(const Graph& graph, const Node& move) {
  if (move.op->move == MoveKind::kReshard) return BytesOfNode(graph, move, {}).wire > 0;
  return !StaysOnRanks(*move.op->move);
}

int64_t WireBytes(const Layout& from, const std::vector<MoveStep>& steps, const TensorType& type, const Mesh& mesh) {
  int64_t bytes = 0;
  const Layout* layout = &from;
  for (const MoveStep& step : steps) {
    if (!StaysOnRanks(step.kind)) bytes += WireBytesOfStep(*layout, step, type, mesh);
    layout = &step.to;
  }
  return bytes;
}

int64_t WireBytes(const Layout& from, const Layout& to, const TensorType& type, const Mesh& mesh) {
  return WireBytes(from, PlanMove(from, to, type.shape, mesh), type, mesh);
}

}  // namespace partita
