// Measures the error of the predicted step on this machine, after a calibration in the same round.
#ifndef PARTITA_TOOLS_BENCHMARKS_ORACLE_STEP_ERRORS_H_
#define PARTITA_TOOLS_BENCHMARKS_ORACLE_STEP_ERRORS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "partitioner/explain/kind_seconds.h"
#include "partitioner/profile/quartiles.h"
#include "tools/benchmarks/models/measured_models.h"
#include "tools/benchmarks/oracle/oracle_options.h"

namespace partita {

// Of replicas of a model, one for each rank.
struct StepErrorRow {
  std::string model;
  int ranks = 1;
  Quartiles predicted, measured;                 // seconds of a step, over the rounds
  Quartiles ratio;                               // predicted over measured in the same turn of a round
  int64_t planned_bytes = 0, used_bytes = 0;     // of the arena of the rank that uses the most, to its highest byte
  int64_t predicted_wire = 0, counted_wire = 0;  // bytes of all steps
  KindSeconds predicted_kinds = {}, measured_kinds = {};  // of a step's launches, medians over all turns and steps

  // |predicted - measured| / measured, of what both were in the same turn, and what it may be.
  double error() const;
  double allowed() const { return ranks == 1 ? 0.10 : 0.20; }
  // Whether the rounds are too far apart to say anything of the error.
  bool refused() const { return ratio.spread() > kMostSpread; }
  bool holds() const;
};

// A row for 1, 2 and 4 ranks, measured in turns. Every round calibrates and measures each of them several times, a few
// steps at a time.
absl::StatusOr<std::vector<StepErrorRow>> MeasureStepErrors(const MeasuredModel& model, const OracleOptions& options);

}  // namespace partita

#endif  // PARTITA_TOOLS_BENCHMARKS_ORACLE_STEP_ERRORS_H_
