// The move ops: linear data movements between two layouts of one value (derivation.md section 2).
//
// A move node has one input and one output of the same type (all_reduce may carry several: a gradient bucket), an
// attribute `axes` ("data" or "data,model": the mesh axes over which ranks meet), and says the rest by the two layouts:
//   all_reduce P->R   all_gather S->R   reduce_scatter P->S   broadcast At->R   sum_reduce P->At   send At(a)->At(b)
//   gather S->At      scatter At->S     slice_move R->S       drop R->At        zero_extend R|S|At->P
//   repartition: any layout without P to any other
//   halo_exchange           S -> S by windows: ghosts come from the blocks that own them, margins are zero
//   halo_exchange_adjoint   S by windows, summed -> S: ghosts are sent back and added, margins dropped
#ifndef PARTITA_GRAPH_MOVES_MOVE_OPS_H_
#define PARTITA_GRAPH_MOVES_MOVE_OPS_H_

#include <string>
#include <vector>

#include "graph/op_definition.h"

namespace partita {

std::vector<OpDefinition> MoveDefinitions();

// The mesh axes of a move node, sorted.
std::vector<int> MoveAxes(const Node& node, const Mesh& mesh);

// Whether ranks send each other something; else each takes or drops what it has.
bool Communicates(const Node& move);

// "data,model" for axes {0,1}.
std::string AxesName(const std::vector<int>& axes, const Mesh& mesh);

}  // namespace partita

#endif  // PARTITA_GRAPH_MOVES_MOVE_OPS_H_
