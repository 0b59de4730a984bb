// The learning rate's attributes as a schedule.
#ifndef PARTITA_OPS_VALUES_LEARNING_RATE_H_
#define PARTITA_OPS_VALUES_LEARNING_RATE_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "graph/ir/model.h"
#include "ops/values/learning_rate_schedule.h"

namespace partita {

// What one_cycle does where nothing is said.
inline constexpr double kStartFraction = 0.3, kInitialDivisor = 25, kFinalDivisor = 1e4;

// How the rate rises to its base.
inline constexpr char kLinearWarmup[] = "linear", kExponentialWarmup[] = "exponential";

std::vector<std::string> ScheduleNames();

// Refuses attributes of `learning_rate` that give no finite rate.
absl::Status CheckSchedule(const Attributes& attributes);

// The schedule of attributes that have passed CheckSchedule.
LearningRateSchedule ScheduleOf(const Attributes& attributes);

// Whether the schedule needs the length of the run (LearningRate::steps): cosine, linear, polynomial and one_cycle do.
bool NeedsSteps(const LearningRate& rate);

// The schedule of a model that has become a program.
LearningRateSchedule ScheduleOf(const LearningRate& rate);

}  // namespace partita

#endif  // PARTITA_OPS_VALUES_LEARNING_RATE_H_
