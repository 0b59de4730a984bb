// Launches the scalars of a step as one: whether the step is applied, the learning rate, the number of the next step,
// and the factor that clips the gradients.
//
//   before   %apply = all_finite(%loss, %squares)   %rate = learning_rate(%n)   %n' = increment(%n, %apply)
//            %clip = clip_scale(%squares)
//   after    %apply, %rate, %n', %clip = all_finite(%loss, %squares, %n)
//
// Kernels of the op in the role kAllFinite take a node with the first three or all four of these outputs and the
// attributes of the other nodes. It stands where all_finite stood. The clip joins where it is the only one.
#ifndef PARTITA_GRAPH_LOWER_JOIN_SCALARS_H_
#define PARTITA_GRAPH_LOWER_JOIN_SCALARS_H_

#include "absl/status/status.h"
#include "graph/ir/kernel_catalogue.h"
#include "graph/schedule/local_program.h"

namespace partita {

// Nothing changes where one of the first three is missing. Errors are those of the catalogue.
absl::Status JoinScalars(LocalProgram& program, const KernelCatalogue& kernels);

}  // namespace partita

#endif  // PARTITA_GRAPH_LOWER_JOIN_SCALARS_H_
