// The communication of a step on a grid of Pr x Pc ranks, in closed form: A. Gholami et al. (docs/papers.md 1.6).
#ifndef PARTITA_TESTS_PARTITIONER_PAPERS_GRID_COST_H_
#define PARTITA_TESTS_PARTITIONER_PAPERS_GRID_COST_H_

#include <cstdint>
#include <vector>

#include "partitioner/cost/collective_cost.h"
#include "tests/partitioner/papers/layers.h"

namespace partita {

// What convolutions do; dense layers are on the grid.
enum class GridForm : uint8_t {
  kIntegrated,  // on the grid as well
  kSamples,     // data parallel over all ranks
  kDomain,      // rows of images over Pr, samples over Pc
};

struct GridOptions {
  int64_t batch = 1;  // global
  GridForm form = GridForm::kIntegrated;
  bool reduce_scatter = false;  // of dX, in the place of the paper's all_reduce
  int element_bytes = 4;
};

// Seconds of one step, of weights without biases; pools cost nothing.
double GridSeconds(const std::vector<Layer>& layers, int rows, int columns, const GridOptions& options,
                   const AlphaBeta& link);

// A cost that the paper omits if convolutions are not on the grid: gathering the first dense layer's inputs.
double BoundarySeconds(const std::vector<Layer>& layers, int rows, int columns, const GridOptions& options,
                       const AlphaBeta& link);

// Below which batch the model form moves fewer bytes than the batch form: 2 |W| / (3 d).
double BatchOfCrossover(const Layer& layer);

}  // namespace partita

#endif  // PARTITA_TESTS_PARTITIONER_PAPERS_GRID_COST_H_
