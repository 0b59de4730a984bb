// Launches the scalars of a step as one: whether it is applied, the learning rate, and the number of the next step.
//
//   before   %apply = all_finite(%loss, %squares)   %rate = learning_rate(%n)   %n' = increment(%n, %apply)
//   after    %apply, %rate, %n' = all_finite(%loss, %squares, %n)
//
// Kernels of the op in the role kAllFinite take a node with these three outputs and the attributes of the rate. It
// stands where the first one stood.
#ifndef PARTITA_GRAPH_LOWER_JOIN_SCALARS_H_
#define PARTITA_GRAPH_LOWER_JOIN_SCALARS_H_

#include "absl/status/status.h"
#include "graph/ir/kernel_catalogue.h"
#include "graph/schedule/local_program.h"

namespace partita {

// Nothing changes where one of the three is missing. Errors are those of the catalogue.
absl::Status JoinScalars(LocalProgram& program, const KernelCatalogue& kernels);

}  // namespace partita

#endif  // PARTITA_GRAPH_LOWER_JOIN_SCALARS_H_
