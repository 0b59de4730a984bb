// The amount by which the accuracy of correct computations may differ.
#ifndef PARTITA_RUNTIME_API_UNDECIDED_H_
#define PARTITA_RUNTIME_API_UNDECIDED_H_

#include "runtime/api/rank/gather.h"

namespace partita {

// 1 / count of the weights of the samples for which the label's logit lies within `margin` of the largest other one:
// where logits may differ by half of that, so may their class; and less than what any one sample weighs for rounding.
// logits [n,classes], labels [n]; weights [n], or null: all 1.
double UndecidedAccuracy(const WholeValue& logits, const WholeValue& labels, const WholeValue* weights, double count,
                         double margin);

}  // namespace partita

#endif  // PARTITA_RUNTIME_API_UNDECIDED_H_
