#include "run/plan/objective.h"

#include <fmt/format.h>

#include "partitioner/cost/time_to_accuracy.h"
#include "partitioner/proto_io/epoch_curve_io.h"
#include "runtime/base/number.h"
#include "runtime/base/status.h"
#include "runtime/train/graph_fields.h"

namespace partita {
absl::StatusOr<Objective> ReadObjective(const RunSpec& spec) {
  Objective objective;
  objective.kind = *FindObjective(spec.plan().objective());
  if (objective.kind != ObjectiveKind::kTimeToAccuracy) return objective;
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
