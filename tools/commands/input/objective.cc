#include "tools/commands/input/objective.h"

#include <fmt/format.h>

#include "partitioner/papers/time_to_accuracy.h"
#include "partitioner/proto_io/epoch_curve_io.h"
#include "runtime/base/status.h"
#include "runtime/train/graph_fields.h"
#include "tools/program/exit_code.h"

namespace partita {
namespace {

// Repairs and differences are those of steps.
absl::Status CheckBeside(const Flags& flags, const std::string& name) {
  if (!flags.IsSet("cluster") && !flags.IsSet("profile")) {
    return FlagError("flag --objective is {}, which needs --cluster or --profile: the machines that are planned for",
                     name);
  }
  if (flags.IsSet("diff")) {
    return FlagError("flags --objective={} and --diff are given; a difference of two plans is that of their steps",
                     name);
  }
  if (flags.Bool("repair")) {
    return FlagError("flags --objective={} and --repair are given; repairs are compared by their steps", name);
  }
  return absl::OkStatus();
}

}  // namespace

std::vector<std::string> ObjectiveFlags() { return {"objective", "curve"}; }

absl::StatusOr<Objective> ReadObjective(const Flags& flags) {
  Objective objective;
  if (!flags.Has("objective")) return objective;
  const std::string& name = flags.Text("objective");
  objective.kind = *FindObjective(name);
  const bool reads_curve = objective.kind == ObjectiveKind::kTimeToAccuracy;
  if (flags.IsSet("curve") && !reads_curve) {
    return FlagError("flag --curve is given, and --objective is {}; time-to-accuracy reads it", name);
  }
  if (objective.kind != ObjectiveKind::kStep) RETURN_IF_ERROR(CheckBeside(flags, name));
  if (!reads_curve) return objective;
  if (!flags.IsSet("curve")) {
    return FlagError("flag --objective is {}, which needs --curve: epochs by batch (a file as in tools/curves)", name);
  }
  ASSIGN_OR_RETURN(objective.curve, LoadEpochCurve(flags.Text("curve")));
  return objective;
}

absl::StatusOr<int64_t> BatchFor(const Objective& objective, const Graph& forward) {
  const absl::StatusOr<int64_t> batch = BatchRows(forward);
  if (batch.ok() || objective.curve) return batch;
  return 0;
}

absl::StatusOr<SearchSettings> ReadSettings(const Flags& flags, const Objective& objective, int ranks, int64_t batch) {
  const SettingRange range{ranks, !flags.Given("ranks"), batch, !flags.Given("batch")};
  SearchSettings settings;
  absl::Status first;
  for (const Setting& setting : SettingsOf(objective.kind, range)) {
    absl::Status covered;
    if (objective.curve) covered = StepsAt(*objective.curve, setting.batch).status();
    if (covered.ok()) {
      settings.searched.push_back(setting);
      continue;
    }
    covered = WithContext(flags.Text("curve"), covered);
    settings.left_out.push_back(WhyLeftOut(setting, covered));
    if (first.ok()) first = covered;
  }
  if (settings.searched.empty()) return first;
  return settings;
}

std::string WhyLeftOut(const Setting& setting, const absl::Status& why) {
  return fmt::format("{} ranks at a batch of {} were left out: {}", setting.ranks, setting.batch,
                     std::string(why.message()));
}

}  // namespace partita
