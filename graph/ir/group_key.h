// The group of a move, as a key with a total order: every rank creates communicators in the same order.
#ifndef PARTITA_GRAPH_IR_GROUP_KEY_H_
#define PARTITA_GRAPH_IR_GROUP_KEY_H_

#include <string>
#include <vector>

#include "graph/ir/graph.h"

namespace partita {

inline constexpr char kFirstMesh[] = "all";  // what the first mesh is called beside others

// Whether a move is an exchange of boxes (graph/moves/plan_exchange.h).
bool IsExchange(const OpDefinition& op);

// The group of a move: ranks of one mesh that differ on some of its axes, or all ranks of two meshes.
struct GroupKey {
  int mesh = 0, other = 0;  // the same, or rising
  std::vector<int> axes;    // sorted indices of axes of the mesh; none between two meshes
  bool between() const { return mesh != other; }
  auto operator<=>(const GroupKey&) const = default;
};

GroupKey KeyOf(const Graph& graph, const Node& move);
// The ranks of every group by that key, as CommunicationGroup has them.
std::vector<std::vector<int>> GroupsOf(const GroupKey& key, const std::vector<Mesh>& meshes);
// The names of its axes, or of its two meshes.
std::vector<std::string> NamesOf(const GroupKey& key, const std::vector<Mesh>& meshes);

// The axes of its mesh over which a move acts, sorted; of a reshard none.
std::vector<int> MoveAxes(const Graph& graph, const Node& move);

// "data,model" for axes {0,1}.
std::string AxesName(const std::vector<int>& axes, const Mesh& mesh);

}  // namespace partita

#endif  // PARTITA_GRAPH_IR_GROUP_KEY_H_
