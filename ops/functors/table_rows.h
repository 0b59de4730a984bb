// Finds the row of a table that an id reads, if a rank holds a block of the rows.
#ifndef PARTITA_OPS_FUNCTORS_TABLE_ROWS_H_
#define PARTITA_OPS_FUNCTORS_TABLE_ROWS_H_

#include <cstdint>

#include "runtime/base/philox.h"

namespace partita {

struct TableRows {
  int64_t all = 0;
  int64_t first = 0, rows = 0;  // of the block
  int64_t padding = -1;         // the id that reads zeros and has no gradient; -1: none

  PARTITA_HOST_DEVICE bool Has(int64_t id) const { return id >= 0 && id < all; }

  // Of the block; -1: none of its rows, zeros take the place.
  PARTITA_HOST_DEVICE int64_t RowOf(int64_t id) const {
    const int64_t row = id - first;
    return id == padding || row < 0 || row >= rows ? -1 : row;
  }
};

}  // namespace partita

#endif  // PARTITA_OPS_FUNCTORS_TABLE_ROWS_H_
