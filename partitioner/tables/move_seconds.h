// Estimates the time of moves among the ranks of a mesh on a cluster.
#ifndef PARTITA_PARTITIONER_TABLES_MOVE_SECONDS_H_
#define PARTITA_PARTITIONER_TABLES_MOVE_SECONDS_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "graph/ir/graph.h"
#include "graph/value/mesh.h"
#include "partitioner/cluster/cluster.h"
#include "partitioner/cost/collective_cost.h"
#include "partitioner/cost/group_cost.h"

namespace partita {

// Keeps what links there are over the axes that it was asked for. Mesh and cluster must outlive it. Thread-compatible.
class MoveSeconds {
 public:
  MoveSeconds(const Mesh& mesh, const Cluster& cluster);

  // Of a move node of a graph on the mesh.
  double OfNode(const Graph& graph, const Node& move);

  // The same without what it would take if it had no bytes: of the sum of a gradient, which travels with others.
  double OfBytesOf(const Graph& graph, const Node& move);

  // Of a collective over these axes (bit a: axis a), all groups at the same time. `bytes` as in CollectiveSeconds.
  double OfCollective(CollectiveKind kind, uint32_t axes, double bytes);

  // A message among ranks that differ on these axes, over the slowest link between them.
  AlphaBeta LinkOver(uint32_t axes);

  // Of a kernel that packs or unpacks what travels.
  double launch_seconds() const { return cluster_.KindOf(mesh_.RankAt(0)).launch_seconds; }

 private:
  double Of(const Graph& graph, const Node& move, bool latency);

  const Mesh& mesh_;
  const Cluster& cluster_;
  // By axes.
  std::vector<std::optional<std::vector<GroupLevel>>> levels_;
  std::vector<std::optional<AlphaBeta>> links_;
};

// The groups of ranks of the mesh that differ on these axes, the one with the first rank first.
std::vector<std::vector<int>> GroupsOver(const Mesh& mesh, uint32_t axes);

}  // namespace partita

#endif  // PARTITA_PARTITIONER_TABLES_MOVE_SECONDS_H_
