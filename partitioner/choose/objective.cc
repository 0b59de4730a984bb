#include "partitioner/choose/objective.h"

#include "runtime/base/status.h"

namespace partita {

const char* Name(ObjectiveKind objective) {
  switch (objective) {
    case ObjectiveKind::kStep:
      return "step";
    case ObjectiveKind::kTimeToAccuracy:
      return "time-to-accuracy";
    case ObjectiveKind::kMemory:
      return "memory";
    case ObjectiveKind::kCost:
      break;
  }
  return "cost";
}

std::optional<ObjectiveKind> FindObjective(const std::string& name) {
  for (const ObjectiveKind objective : kObjectives) {
    if (name == Name(objective)) return objective;
  }
  return std::nullopt;
}

absl::StatusOr<double> ValueOf(const Objective& objective, const PlanFigures& figures) {
  switch (objective.kind) {
    case ObjectiveKind::kStep:
      break;
    case ObjectiveKind::kTimeToAccuracy: {
      ASSIGN_OR_RETURN(const StepsToAccuracy steps, StepsAt(objective.curve.value_or(EpochCurve()), figures.batch));
      return figures.step_seconds * steps.steps();
    }
    case ObjectiveKind::kMemory:
      return static_cast<double>(figures.memory_bytes);
    case ObjectiveKind::kCost:
      return figures.step_seconds * figures.ranks;
  }
  return figures.step_seconds;
}

std::vector<Setting> SettingsOf(ObjectiveKind objective, const SettingRange& range) {
  std::vector<Setting> settings;
  if (objective == ObjectiveKind::kCost && range.fewer_ranks) {
    for (int ranks = 1; ranks < range.ranks; ranks *= 2) settings.push_back({ranks, range.batch});
  }
  settings.push_back({range.ranks, range.batch});
  if (objective == ObjectiveKind::kTimeToAccuracy && range.larger_batch) {
    for (int replicas = 2; replicas <= range.ranks; ++replicas) {
      if (range.ranks % replicas == 0) settings.push_back({range.ranks, range.batch * replicas});
    }
  }
  return settings;
}

}  // namespace partita
