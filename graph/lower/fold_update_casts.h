// Lets updates and sums of squares read gradients in bf16, without a launch that casts them.
//
//   before   %ga = cast(%ga@bf16)   %s = sum_of_squares(%ga)        %a' = sgd(%a, %ga, %rate, %apply)
//   after                           %s = sum_of_squares(%ga@bf16)   %a' = sgd(%a, %ga@bf16, %rate, %apply)
//
// Of ops whose kernels take that (OpDefinition::takes_bf16), where nobody else reads the cast. What ranks add up is
// f32, so behind an all_reduce there is no cast.
#ifndef PARTITA_GRAPH_LOWER_FOLD_UPDATE_CASTS_H_
#define PARTITA_GRAPH_LOWER_FOLD_UPDATE_CASTS_H_

#include "graph/schedule/local_program.h"

namespace partita {

// Before GroupUpdates and JoinNorms, which choose the kernels anew. Linear in the launches.
void FoldUpdateCasts(LocalProgram& program);

}  // namespace partita

#endif  // PARTITA_GRAPH_LOWER_FOLD_UPDATE_CASTS_H_
