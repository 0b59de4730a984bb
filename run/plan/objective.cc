#include "run/plan/objective.h"

#include <fmt/format.h>

#include "partitioner/papers/time_to_accuracy.h"
#include "partitioner/proto_io/epoch_curve_io.h"
#include "run/spec/spec_error.h"
#include "runtime/base/counted.h"
#include "runtime/base/status.h"
#include "runtime/train/graph_fields.h"

namespace partita {
namespace {

// Repairs and differences are those of steps.
absl::Status CheckBeside(const RunSpec& spec, const std::string& name) {
  if (!spec.machine().has_cluster() && !spec.machine().has_profile()) {
    return FlagError("flag --objective is {}, which needs --cluster or --profile: the machines that are planned for",
                     name);
  }
  if (spec.split().has_diff()) {
    return FlagError("flags --objective={} and --diff are given; a difference of two plans is that of their steps",
                     name);
  }
  if (spec.split().repair()) {
    return FlagError("flags --objective={} and --repair are given; repairs are compared by their steps", name);
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<Objective> ReadObjective(const RunSpec& spec) {
  Objective objective;
  const std::string& name = spec.plan().objective();
  objective.kind = *FindObjective(name);
  const bool reads_curve = objective.kind == ObjectiveKind::kTimeToAccuracy;
  if (spec.plan().has_curve() && !reads_curve) {
    return FlagError("flag --curve is given, and --objective is {}; time-to-accuracy reads it", name);
  }
  if (objective.kind != ObjectiveKind::kStep) RETURN_IF_ERROR(CheckBeside(spec, name));
  if (!reads_curve) return objective;
  if (!spec.plan().has_curve()) {
    return FlagError("flag --objective is {}, which needs --curve: epochs by batch (a file as in tools/curves)", name);
  }
  ASSIGN_OR_RETURN(objective.curve, LoadEpochCurve(spec.plan().curve()));
  return objective;
}

absl::StatusOr<int64_t> BatchFor(const Objective& objective, const Graph& forward) {
  const absl::StatusOr<int64_t> batch = BatchRows(forward);
  if (batch.ok() || objective.curve) return batch;
  return 0;
}

absl::StatusOr<SearchSettings> ReadSettings(const RunSpec& spec, const Objective& objective, int ranks, int64_t batch) {
  const SettingRange range{ranks, !spec.split().has_ranks(), batch, spec.model().batch() == 0};
  SearchSettings settings;
  absl::Status first;
  for (const Setting& setting : SettingsOf(objective.kind, range)) {
    absl::Status covered;
    if (objective.curve) covered = StepsAt(*objective.curve, setting.batch).status();
    if (covered.ok()) {
      settings.searched.push_back(setting);
      continue;
    }
    covered = WithContext(spec.plan().curve(), covered);
    settings.left_out.push_back(WhyLeftOut(setting, covered));
    if (first.ok()) first = covered;
  }
  if (settings.searched.empty()) return first;
  return settings;
}

std::string WhyLeftOut(const Setting& setting, const absl::Status& why) {
  return fmt::format("{} at a batch of {} {} left out: {}", Counted(setting.ranks, "rank"), setting.batch,
                     setting.ranks == 1 ? "was" : "were", std::string(why.message()));
}

}  // namespace partita
