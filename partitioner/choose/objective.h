// The objective by which plans are compared, and the ranks and batches to search for.
#ifndef PARTITA_PARTITIONER_CHOOSE_OBJECTIVE_H_
#define PARTITA_PARTITIONER_CHOOSE_OBJECTIVE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "partitioner/cost/time_to_accuracy.h"

namespace partita {

enum class ObjectiveKind : uint8_t { kStep, kTimeToAccuracy, kMemory, kCost };
inline constexpr ObjectiveKind kObjectives[] = {ObjectiveKind::kStep, ObjectiveKind::kTimeToAccuracy,
                                                ObjectiveKind::kMemory, ObjectiveKind::kCost};
const char* Name(ObjectiveKind objective);
std::optional<ObjectiveKind> FindObjective(const std::string& name);

struct Objective {
  ObjectiveKind kind = ObjectiveKind::kStep;
  std::optional<EpochCurve> curve = {};  // of kTimeToAccuracy
};

// What is predicted of a plan.
struct PlanFigures {
  double step_seconds = 0;
  int64_t memory_bytes = 0;  // of the fullest rank
  int ranks = 1;
  int64_t batch = 0;  // of all replicas
};

// Less is better: seconds of a step; seconds of as many steps as the curve says; bytes of the fullest rank; seconds of
// a step, of all ranks together. kInvalidArgument: of kTimeToAccuracy, StepsAt refuses the batch.
absl::StatusOr<double> ValueOf(const Objective& objective, const PlanFigures& figures);

// A search for plans with this number of ranks and this batch.
struct Setting {
  int ranks = 1;
  int64_t batch = 0;
  friend bool operator==(const Setting&, const Setting&) = default;
};

struct SettingRange {
  int ranks = 1;
  bool fewer_ranks = false;   // are allowed as well
  int64_t batch = 0;          // of the graph
  bool larger_batch = false;  // is allowed as well
};

// Those that an objective can prefer. kCost takes also 1, 2, 4, ... of the ranks, if fewer are allowed: others cost
// less where communication eats what they give. kTimeToAccuracy takes also as many times the batch as replicas divide
// the ranks, if larger ones are allowed: more samples a second against more epochs. All others: the range's end alone.
std::vector<Setting> SettingsOf(ObjectiveKind objective, const SettingRange& range);

}  // namespace partita

#endif  // PARTITA_PARTITIONER_CHOOSE_OBJECTIVE_H_
