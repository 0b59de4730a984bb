// Drops the constant that starts the backward pass.
//
//   before   %l@d = constant() value=1   %x@d = softmax_cross_entropy_grad(%x, %labels, _, %l@d)
//   after    %x@d = softmax_cross_entropy_grad(%x, %labels, _, _)
//
// Applies to ops whose kernels treat an absent input as 1 (OpDefinition::one_if_absent), if no other node reads the
// constant.
#ifndef PARTITA_GRAPH_LOWER_DROP_ONES_H_
#define PARTITA_GRAPH_LOWER_DROP_ONES_H_

#include "absl/status/status.h"
#include "graph/ir/kernel_catalogue.h"
#include "graph/schedule/local_program.h"

namespace partita {

// Errors are those of the catalogue, which chooses the readers' kernels anew. Linear in the launches.
absl::Status DropOnes(LocalProgram& program, const KernelCatalogue& kernels);

}  // namespace partita

#endif  // PARTITA_GRAPH_LOWER_DROP_ONES_H_
