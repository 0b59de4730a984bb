// The learning rate's attributes as a schedule.
#ifndef PARTITA_OPS_VALUES_LEARNING_RATE_H_
#define PARTITA_OPS_VALUES_LEARNING_RATE_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "graph/value/attributes.h"
#include "ops/values/learning_rate_schedule.h"

namespace partita {

std::vector<std::string> ScheduleNames();

// Refuses attributes of `learning_rate` that give no finite rate.
absl::Status CheckSchedule(const Attributes& attributes);

// The schedule of attributes that have passed CheckSchedule.
LearningRateSchedule ScheduleOf(const Attributes& attributes);

}  // namespace partita

#endif  // PARTITA_OPS_VALUES_LEARNING_RATE_H_
