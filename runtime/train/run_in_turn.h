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

// Collective. Runs up to `steps` steps of an entry point. `fill` and `end` are called once for each that is begun,
// in their order. A session that records its timeline has one of the last step only: there each step ends before the
// next is begun. Without an error no step is in flight behind it.
absl::Status RunInTurn(Session& session, const std::string& entry, int64_t steps, const Session::InputFiller& fill,
                       const StepEnd& end);

}  // namespace partita

#endif  // PARTITA_RUNTIME_TRAIN_RUN_IN_TURN_H_
