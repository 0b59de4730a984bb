#include "partitioner/tables/move_seconds.h"

#include <algorithm>

#include "graph/ir/group_key.h"
#include "graph/ir/op_definition.h"
#include "graph/moves/move_bytes.h"

namespace partita {

std::vector<std::vector<int>> GroupsOver(const Mesh& mesh, uint32_t axes) {
  std::vector<int> indices;
  for (int a = 0; a < static_cast<int>(mesh.axes.size()); ++a) {
    if ((axes >> a & 1) != 0) indices.push_back(a);
  }
  std::vector<std::vector<int>> groups;
  for (const int rank : mesh.Ranks()) {
    if (mesh.Leads(rank, indices)) groups.push_back(mesh.Group(rank, indices));
  }
  return groups;
}

MoveSeconds::MoveSeconds(const Mesh& mesh, const Cluster& cluster)
    : mesh_(mesh), cluster_(cluster), levels_(size_t{1} << mesh.axes.size()), links_(levels_.size()) {}

double MoveSeconds::OfNode(const Graph& graph, const Node& move) { return Of(graph, move, true); }

double MoveSeconds::OfBytesOf(const Graph& graph, const Node& move) { return Of(graph, move, false); }

double MoveSeconds::Of(const Graph& graph, const Node& move, bool latency) {
  if (StaysOnRanks(*move.op->move)) return 0;
  const std::vector<int> over = MoveAxes(graph, move), group = mesh_.Group(/*rank=*/0, over);
  uint32_t axes = 0;
  for (const int axis : over) axes |= 1U << axis;
  const MoveBytes bytes = BytesOfNode(graph, move, group);
  if (bytes.wire == 0) return 0;
  const auto collective = [&](CollectiveKind kind) {
    const double seconds = OfCollective(kind, axes, static_cast<double>(bytes.payload));
    return latency ? seconds : std::max(seconds - OfCollective(kind, axes, 1), 0.0);
  };
  if (move.op->move == MoveKind::kAllReduce) return collective(CollectiveKind::kAllReduce);
  if (move.op->move == MoveKind::kAllGather) return collective(CollectiveKind::kAllGather);
  if (move.op->move == MoveKind::kReduceScatter) return collective(CollectiveKind::kReduceScatter);
  const AlphaBeta link = LinkOver(axes);
  return (latency ? link.alpha : 0) + link.beta * static_cast<double>(bytes.wire) / static_cast<double>(group.size());
}

double MoveSeconds::OfCollective(CollectiveKind kind, uint32_t axes, double bytes) {
  std::optional<std::vector<GroupLevel>>& levels = levels_[axes];
  if (!levels) levels = LevelsOf(cluster_, GroupsOver(mesh_, axes), 0);
  return GroupSeconds(cluster_.KindOf(mesh_.RankAt(0)), kind, bytes, *levels);
}

AlphaBeta MoveSeconds::LinkOver(uint32_t axes) {
  std::optional<AlphaBeta>& slowest = links_[axes];
  if (slowest) return *slowest;
  slowest.emplace();
  for (const std::vector<int>& group : GroupsOver(mesh_, axes)) {
    const Link link = LinkBetween(cluster_, group.front(), group.back());
    slowest->alpha = std::max(slowest->alpha, link.latency_seconds);
    slowest->beta = std::max(slowest->beta, 1 / link.bytes_per_second);
  }
  return *slowest;
}

}  // namespace partita
