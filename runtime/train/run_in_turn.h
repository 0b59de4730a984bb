// One step after the other, each begun while the one before runs.
#ifndef PARTITA_RUNTIME_TRAIN_RUN_IN_TURN_H_
#define PARTITA_RUNTIME_TRAIN_RUN_IN_TURN_H_

#include <cstdint>
#include <functional>
#include <string>

#include "absl/status/statusor.h"
#include "runtime/api/session.h"

namespace partita {

// Takes the results of the older step in flight (Session::Finish); false: no step more, but for the one behind it.
using StepEnd = std::function<absl::StatusOr<bool>()>;

// The entry point of a step of those that are run, counted from 0.
using StepEntry = std::function<const std::string&(int64_t step)>;
// Makes the inputs of the next step, before it is begun: an error leaves the steps before it as they are.
using StepInputs = std::function<absl::Status()>;
// Writes the inputs of the next step, which is one of `entry`.
using StepFill = std::function<absl::Status(const std::string& entry)>;

// Collective. Runs up to `steps` steps, all of one use. `make`, `fill` and `end` are called once for each that is
// begun, in their order. A session that records its timeline has one of the last step only: there each step ends before
// the next is begun. Without an error, or with one of `make`, no step is in flight behind it, and `end` has had the
// results of all that were begun.
absl::Status RunInTurn(Session& session, int64_t steps, const StepEntry& entry, const StepInputs& make,
                       const StepFill& fill, const StepEnd& end);

}  // namespace partita

#endif  // PARTITA_RUNTIME_TRAIN_RUN_IN_TURN_H_
