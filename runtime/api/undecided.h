// The amount by which the accuracy of correct computations may differ.
#ifndef PARTITA_RUNTIME_API_UNDECIDED_H_
#define PARTITA_RUNTIME_API_UNDECIDED_H_

#include <cstdint>
#include <optional>

#include "runtime/api/rank/gather.h"

namespace partita {

// How an accuracy counts rows.
struct CountedRows {
  double divisor = 1;                             // of the sum of their weights
  int64_t top = 1;                                // a row counts if its label is among the first `top` classes
  std::optional<int64_t> ignored = std::nullopt;  // a label whose rows count nothing
};

// 1 / divisor of the weights of the rows for which the label's logit lies within `margin` of the one by which it would
// begin or cease to count: where logits may differ by half of that, so may what counts; and less than what any one row
// weighs for rounding. logits [n,classes] or [n,t,classes], labels [n] or [n,t]; weights [n] or [n,t], or null: all 1.
double UndecidedAccuracy(const WholeValue& logits, const WholeValue& labels, const WholeValue* weights,
                         const CountedRows& counted, double margin);

}  // namespace partita

#endif  // PARTITA_RUNTIME_API_UNDECIDED_H_
