#include "runtime/train/run_in_turn.h"

#include "runtime/base/status.h"

namespace partita {

absl::Status RunInTurn(Session& session, int64_t steps, const StepEntry& entry, const StepInputs& make,
                       const StepFill& fill, const StepEnd& end) {
  const int64_t most = session.records_timeline() ? 1 : 2;  // in flight
  int64_t begun = 0, ended = 0;
  bool go_on = true;
  absl::Status made;
  while (true) {
    while (go_on && begun < steps && begun - ended < most) {
      made = make();
      if (!made.ok()) {
        go_on = false;
        break;
      }
      const std::string& next = entry(begun);
      RETURN_IF_ERROR(session.Begin(next, [&] { return fill(next); }));
      ++begun;
    }
    if (ended == begun) return made;
    ASSIGN_OR_RETURN(const bool more, end());
    ++ended;
    go_on = go_on && more;
  }
}

}  // namespace partita
