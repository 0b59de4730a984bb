// Computes while ghosts travel (docs/papers.md 1.3): what needs no ghost is launched before what waits for them.
//
//   before   pack   exchange   assemble                     y = conv2d(assembled)
//   after    pack   exchange   copy own   interior of y     unpack ghosts   boundary of y
//
// Where boxes are exchanged (ScheduleOptions::exchange_boxes) nothing is packed, and the own part is copied first:
//
//   before   copy own   exchange into assembled   y = conv2d(assembled)
//   after    copy own   exchange into assembled   interior of y   boundary of y
//
// The interior is a convolution of the rank's own block into its rows and columns of y; the boundary, at most two
// strips for each dimension, is one of the assembled block. Where ghosts come in two exchanges, rows before columns,
// what needs ghosts of the first alone is launched while the second is on its way. Each rank's interior is its own;
// what is exchanged, and what ranks wait for, stays as it was.
#ifndef PARTITA_GRAPH_LOWER_SPLIT_AT_HALOS_H_
#define PARTITA_GRAPH_LOWER_SPLIT_AT_HALOS_H_

#include <cstdint>

#include "graph/ir/graph.h"
#include "graph/ir/kernel_catalogue.h"
#include "graph/schedule/local_program.h"
#include "graph/schedule/localize.h"
#include "graph/schedule/overlap_halo.h"

namespace partita {

// `hiding_flops`: what kAuto asks of an interior (MachineSpeed).
struct HaloOverlap {
  OverlapHalo mode = OverlapHalo::kOff;
  double hiding_flops = 0;
};

// Splits the nodes of windowed ops (OpDefinition::windowed) that read a halo exchange in which this rank receives
// anything. A node whose parts its own kernel does not take stays whole: a slower one would undo the gain. Before
// AssignStorage. Linear in the launches.
void SplitAtHalos(LocalProgram& program, const Graph& entry, const LocalGraph& local, const KernelCatalogue& kernels,
                  const HaloOverlap& overlap);

}  // namespace partita

#endif  // PARTITA_GRAPH_LOWER_SPLIT_AT_HALOS_H_
