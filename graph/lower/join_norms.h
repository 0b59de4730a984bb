// Launches sums of squares and their sum as one.
//
//   before   %sa = sum_of_squares(%a)   %sb = sum_of_squares(%b)   %s = add(%sa, %sb)
//   after    %s = sum_of_squares(%a, %b)
//
// Kernels of the op in the role kSumOfSquares take a node with several inputs. They round each sum to the type of the
// result and add the sums in the order of the inputs, so the bits are those of the separate nodes. The joint launch
// stands where the add stood.
#ifndef PARTITA_GRAPH_LOWER_JOIN_NORMS_H_
#define PARTITA_GRAPH_LOWER_JOIN_NORMS_H_

#include "absl/status/status.h"
#include "graph/ir/kernel_catalogue.h"
#include "graph/schedule/local_program.h"

namespace partita {

// Joins sums that only one add reads. Chooses the kernel of every sum of squares anew, since FoldUpdateCasts may have
// changed its input. Errors are those of the catalogue. Linear in the launches.
absl::Status JoinNorms(LocalProgram& program, const KernelCatalogue& kernels);

}  // namespace partita

#endif  // PARTITA_GRAPH_LOWER_JOIN_NORMS_H_
