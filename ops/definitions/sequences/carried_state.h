// The state that a node carries from step to step: its final value in one step is its initial value in the next.
//
// In training it is a state `name`. Evaluation has its own, `name@evaluation`, so that training resumes with its own
// value. A program's states are those of its training, which therefore has both, in the same layout.
#ifndef PARTITA_OPS_DEFINITIONS_SEQUENCES_CARRIED_STATE_H_
#define PARTITA_OPS_DEFINITIONS_SEQUENCES_CARRIED_STATE_H_

#include <string>

#include "graph/ir/op_definition.h"

namespace partita {

struct CarriedState {
  std::string name;
  ValueId state = kNoValue;
  ValueId begin = kNoValue;  // the state, of the type that was asked for: a state is no bf16
};

// Zeros before the first step.
absl::StatusOr<CarriedState> BeginCarried(EntryBuilder& builder, const std::string& name, const TensorType& type);

// `end`: what the next step begins with.
absl::Status EndCarried(EntryBuilder& builder, const CarriedState& carried, ValueId end);

}  // namespace partita

#endif  // PARTITA_OPS_DEFINITIONS_SEQUENCES_CARRIED_STATE_H_
