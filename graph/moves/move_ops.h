// The move ops: linear data movements between two layouts of one value (derivation.md section 2).
//
// A move node has one input and one output of the same type (all_reduce may carry several: a gradient bucket), an
// attribute `axes` ("data" or "data,model": the mesh axes over which ranks meet), and says the rest by the two layouts:
//   all_reduce P->R   all_gather S->R   reduce_scatter P->S   broadcast At->R   sum_reduce P->At   send At(a)->At(b)
//   gather S->At      scatter At->S     slice_move R->S       drop R->At        zero_extend R|S|At->P
//   repartition: any layout without P to any other
//   send, gather, scatter, repartition and reshard are exchanges of boxes: attributes `mode` and `chunks` say how one is made
//                           (graph/moves/plan_exchange.h); set by a pass (graph/passes/choose_exchanges.h)
//   halo_exchange           S -> S by windows: ghosts come from the blocks that own them, margins are zero
//   halo_exchange_adjoint   S by windows, summed -> S: ghosts are sent back and added, margins dropped
//   reshard: from a layout without P and windows on one mesh to such a layout on another. It has no axes: the ranks of
//   both meshes meet
#ifndef PARTITA_GRAPH_MOVES_MOVE_OPS_H_
#define PARTITA_GRAPH_MOVES_MOVE_OPS_H_

#include <string>
#include <vector>

#include "graph/graph.h"
#include "graph/op_definition.h"

namespace partita {

inline constexpr char kFirstMesh[] = "all";  // what the first mesh is called beside others
inline constexpr char kReshard[] = "reshard";

std::vector<OpDefinition> MoveDefinitions();

bool IsExchange(const OpDefinition& op);

// Who meets in a move: ranks of one mesh that differ on some axes of it, or all ranks of two meshes.
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

#endif  // PARTITA_GRAPH_MOVES_MOVE_OPS_H_
