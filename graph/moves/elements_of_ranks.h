// Counts the elements of a value that the ranks of a mesh hold together, without visiting each rank: only a few axes
// cut a dimension, and ranks that differ on other axes hold the same part.
//
//   S0 S0 S1 over axes of 4, 4 and 8: the sum of 16 blocks of rows times that of 8 blocks of columns, not of 128 boxes
#ifndef PARTITA_GRAPH_MOVES_ELEMENTS_OF_RANKS_H_
#define PARTITA_GRAPH_MOVES_ELEMENTS_OF_RANKS_H_

#include <cstdint>
#include <vector>

#include "graph/value/layout.h"
#include "graph/value/mesh.h"
#include "graph/value/shape.h"

namespace partita {

// Of the boxes (LocalBox) of all ranks that lead over `axes` (Mesh::Leads): over none, of all.
int64_t ElementsHeld(const Layout& layout, const Shape& shape, const Mesh& mesh, const std::vector<int>& axes);

// Of what the ranks shall hold of the tensor, without margins, and do not hold before.
int64_t ElementsThatChangeRank(const Layout& from, const Layout& to, const Shape& shape, const Mesh& mesh);

}  // namespace partita

#endif  // PARTITA_GRAPH_MOVES_ELEMENTS_OF_RANKS_H_
