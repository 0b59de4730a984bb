#include "run/train/replica_checks.h"

#include <fmt/ranges.h>

#include "run/spec/spec_error.h"
#include "runtime/base/status.h"

namespace partita {
namespace {

std::string RanksText(const std::vector<int>& ranks) {
  return fmt::format("rank{} {}", ranks.size() == 1 ? "" : "s", fmt::join(ranks, ", "));
}

absl::Status Check(const Session& session, int64_t step) {
  ASSIGN_OR_RETURN(const ReplicaCheck check, session.CheckReplicas());
  if (check.counted_bytes != check.predicted_bytes) {
    return Internal("step {}: a check of replicas brought {} bytes to this process; {} were predicted", step,
                    check.counted_bytes, check.predicted_bytes);
  }
  if (!check.first) return absl::OkStatus();
  return VerificationFailure("step {}: state '{}': {} diverged from {}", step, check.first->state,
                             RanksText(check.first->ranks), RanksText(check.first->others));
}

}  // namespace

TrainingPauses ReplicaChecks(const RunSpec& spec, const Session& session) {
  TrainingPauses pauses;
  const int64_t every = spec.debug().check_replicas();
  if (every == 0) return pauses;
  pauses.next = [every](int64_t step) { return every - step % every; };
  pauses.on_steps = [&session](int64_t step, const LossSums&) { return Check(session, step); };
  return pauses;
}

}  // namespace partita
