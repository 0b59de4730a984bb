// A model's learning rate: its schedule from named attributes, and the ranges of its numbers.
#ifndef PARTITA_GRAPH_READ_LEARNING_RATE_H_
#define PARTITA_GRAPH_READ_LEARNING_RATE_H_

#include "absl/status/status.h"
#include "graph/ir/model.h"
#include "graph/value/attributes.h"

namespace partita {

// Sets the fields that are named, all but the base: "schedule", "steps", "warmup_steps", ... An integer is taken where
// a number is needed. kInvalidArgument: an unknown name ("did you mean") or a value of another type.
absl::Status SetSchedule(const Attributes& schedule, LearningRate& rate);

// Ranges of the schedule's numbers; names the field.
absl::Status VerifyLearningRate(const LearningRate& rate);

}  // namespace partita

#endif  // PARTITA_GRAPH_READ_LEARNING_RATE_H_
