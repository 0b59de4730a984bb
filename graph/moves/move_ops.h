// The move ops: linear data movements between two layouts of one value (docs/derivation.md 2).
//
// A move node has one input and one output of the same type (all_reduce may carry several: a gradient bucket), an
// attribute `axes` ("data" or "data,model": the mesh axes over which ranks meet), and says the rest by the two layouts:
//   all_reduce P->R   all_gather S->R   reduce_scatter P->S   broadcast At->R   sum_reduce P->At   send At(a)->At(b)
//   gather S->At      scatter At->S     slice_move R->S       drop R->At        zero_extend R|S|At->P
//   repartition: any layout without P to any other
//   send, gather, scatter, repartition and reshard are exchanges of boxes: attributes `mode` and `chunks` say how one
//   is made
//                           (graph/moves/plan_exchange.h); set by a pass (graph/passes/choose_exchanges.h)
//   halo_exchange           S -> S by windows: ghosts come from the blocks that own them, margins are zero
//   halo_exchange_adjoint   S by windows, summed -> S: ghosts are sent back and added, margins dropped
//   reshard: from a layout without P and windows on one mesh to such a layout on another. It has no axes: the ranks of
//   both meshes meet
#ifndef PARTITA_GRAPH_MOVES_MOVE_OPS_H_
#define PARTITA_GRAPH_MOVES_MOVE_OPS_H_

#include <vector>

#include "graph/ir/move_kind.h"
#include "graph/ir/op_definition.h"

namespace partita {

const char* Name(MoveKind kind);  // of its op

std::vector<OpDefinition> MoveDefinitions();

}  // namespace partita

#endif  // PARTITA_GRAPH_MOVES_MOVE_OPS_H_
