// A transpose as kernels of all backends see it. Dimensions of size 1 are dropped, dimensions that stay neighbours are
// merged, and a last dimension that stays the last becomes the cell. The remaining transpose moves the last dimension
// elsewhere, so neighbouring cells of x are not neighbours in y.
#ifndef PARTITA_OPS_VALUES_TRANSPOSITION_H_
#define PARTITA_OPS_VALUES_TRANSPOSITION_H_

#include <cstdint>
#include <vector>

#include "graph/value/attributes.h"
#include "graph/value/shape.h"

namespace partita {

struct Transposition {
  // Of cells: how many, and how far the next one is in x and in y.
  struct Dimension {
    int64_t size = 1, x_step = 0, y_step = 0;
  };

  int64_t cell = 1;              // elements
  Dimension columns;             // neighbours in x
  Dimension rows;                // neighbours in y
  std::vector<Dimension> outer;  // at most 2 of 4 dimensions, in y's order

  // Nothing moves: all is one cell.
  bool is_copy() const { return columns.size == 1 && rows.size == 1; }
};

// x of `shape`, dimension d of y is x's dimension permutation[d]. No size is 0.
Transposition MakeTransposition(const Shape& shape, const IntList& permutation);

}  // namespace partita

#endif  // PARTITA_OPS_VALUES_TRANSPOSITION_H_
