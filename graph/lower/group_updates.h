// Launches the updates of many states as one: of parameters, and of running statistics.
//
//   before   %a' = sgd(%a, %ga, %rate, %apply)   %b' = sgd(%b, %gb, %rate, %apply)   %n' = increment(%n, %apply)
//   after    %n' = increment(%n, %apply)   %a', %b' = sgd(%a, %ga, %rate, %apply, %b, %gb, %rate, %apply)
//
// Joined are kernels of ops that allow it (OpDefinition::together) with equal dtypes, shared inputs and, unless the op
// lets them differ, attributes. The joint launch stands where the last update stood, or before the first launch that
// needs one of its results: it depends on all gradients, so nothing that runs beside the backward pass is held up, and
// no collective changes its place.
#ifndef PARTITA_GRAPH_LOWER_GROUP_UPDATES_H_
#define PARTITA_GRAPH_LOWER_GROUP_UPDATES_H_

#include "absl/status/status.h"
#include "graph/ir/kernel_catalogue.h"
#include "graph/schedule/local_program.h"

namespace partita {

// Before AssignStorage. Errors are those of the catalogue, which chooses a kernel for each joint launch. Linear in the
// launches.
absl::Status GroupUpdates(LocalProgram& program, const KernelCatalogue& kernels);

}  // namespace partita

#endif  // PARTITA_GRAPH_LOWER_GROUP_UPDATES_H_
