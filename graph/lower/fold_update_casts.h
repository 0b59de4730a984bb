// Lets updates and sums of squares read gradients in bf16, without a launch that casts them.
//
//   before   %ga = cast(%ga@bf16)   %s = sum_of_squares(%ga)        %a' = sgd(%a, %ga, %rate, %apply)
//   after                           %s = sum_of_squares(%ga@bf16)   %a' = sgd(%a, %ga@bf16, %rate, %apply)
//
// Applies to ops whose kernels accept bf16 (OpDefinition::takes_bf16), if no other node reads the cast. Ranks sum in
// f32, so no cast follows an all_reduce.
#ifndef PARTITA_GRAPH_LOWER_FOLD_UPDATE_CASTS_H_
#define PARTITA_GRAPH_LOWER_FOLD_UPDATE_CASTS_H_

#include "graph/schedule/local_program.h"

namespace partita {

// Before GroupUpdates and JoinNorms, which choose the kernels anew. Linear in the launches.
void FoldUpdateCasts(LocalProgram& program);

}  // namespace partita

#endif  // PARTITA_GRAPH_LOWER_FOLD_UPDATE_CASTS_H_
