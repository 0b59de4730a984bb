// How long moves take among the ranks of a mesh on a cluster.
#ifndef PARTITA_PARTITIONER_TABLES_MOVE_SECONDS_H_
#define PARTITA_PARTITIONER_TABLES_MOVE_SECONDS_H_

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "graph/ir/graph.h"
#include "graph/value/mesh.h"
#include "partitioner/cluster/cluster.h"
#include "partitioner/cost/collective_cost.h"

namespace partita {

// Keeps what it was asked. Mesh and cluster must outlive it. Thread-compatible.
class MoveSeconds {
 public:
  MoveSeconds(const Mesh& mesh, const Cluster& cluster) : mesh_(mesh), cluster_(cluster) {}

  // Of a move node of a graph on the mesh.
  double OfNode(const Graph& graph, const Node& move);

  // The same without what it would take if it had no bytes: of the sum of a gradient, which travels with others.
  double OfBytesOf(const Graph& graph, const Node& move);

  // Of a collective over these axes (bit a: axis a), all groups at the same time. `bytes` as in CollectiveSeconds.
  double OfCollective(CollectiveKind kind, uint32_t axes, double bytes);

  // A message among ranks that differ on these axes, over the slowest link between them.
  AlphaBeta LinkOver(uint32_t axes);

 private:
  double Of(const Graph& graph, const Node& move, bool latency);

  const Mesh& mesh_;
  const Cluster& cluster_;
  std::map<std::pair<std::pair<CollectiveKind, uint32_t>, double>, double> collectives_;
  std::map<uint32_t, AlphaBeta> links_;
};

// The groups of ranks of the mesh that differ on these axes, the one with the first rank first.
std::vector<std::vector<int>> GroupsOver(const Mesh& mesh, uint32_t axes);

}  // namespace partita

#endif  // PARTITA_PARTITIONER_TABLES_MOVE_SECONDS_H_
