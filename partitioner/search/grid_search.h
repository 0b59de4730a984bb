// The grid of Gholami et al. (1712.04432): P = Pr x Pc, and for each layer (or class of layers) what it does on it.
#ifndef PARTITA_PARTITIONER_SEARCH_GRID_SEARCH_H_
#define PARTITA_PARTITIONER_SEARCH_GRID_SEARCH_H_

#include <functional>
#include <vector>

#include "absl/status/statusor.h"
#include "partitioner/search/answer.h"
#include "partitioner/search/elimination/cost_tables.h"
#include "partitioner/search/layerwise_search.h"

namespace partita {

struct GridPlan {
  int rows = 1;     // Pr: ranks that share a layer's model or rows of images
  int columns = 1;  // Pc: that share the samples
  Configs modes;    // of each layer
};

// The best of all grids, and after it the best plan of each other grid that has one.
struct GridAnswer : Answer<GridPlan> {
  std::vector<Answer<GridPlan>> others;  // the fastest first; each with the bound of its own grid
};

// The layers' costs by mode on one grid; edges are what it takes to get from one mode to another. An error: why a layer
// cannot lie there; no plan of it is taken while there is another.
using GridTables = std::function<absl::StatusOr<CostTables>(int rows, int columns)>;

// Tries all divisors of `ranks` as rows, on each the layers' best modes. Rejected: all other grids.
absl::StatusOr<GridAnswer> GridSearch(int ranks, const GridTables& tables, double bytes = kNever);

// The groups of workers of Joo and Youn (IEEE Access 9, 2021): columns are groups, rows the members of one. Members are
// at most `domain` ranks, those with fast links among them, unless none of these groups fits.
absl::StatusOr<GridAnswer> GroupSearch(int ranks, int domain, const GridTables& tables, double bytes = kNever);

}  // namespace partita

#endif  // PARTITA_PARTITIONER_SEARCH_GRID_SEARCH_H_
