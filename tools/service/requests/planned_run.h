// What a run would need, from its plan: nothing of it is allocated.
#ifndef PARTITA_TOOLS_SERVICE_REQUESTS_PLANNED_RUN_H_
#define PARTITA_TOOLS_SERVICE_REQUESTS_PLANNED_RUN_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "proto/run.pb.h"

namespace partita::service {

struct PlannedRun {
  int ranks = 0;
  int64_t bytes = 0;  // on the host, its data set included
};

struct PlanLimits {
  int ranks = 0;
  int64_t bytes = 0;
};

// Thread-safe. kResourceExhausted: the run is over a limit; the ranks are compared before the program is compiled.
absl::StatusOr<PlannedRun> PlanTraining(const RunSpec& spec, const PlanLimits& limits);

struct PlannedPrediction {
  std::vector<std::string> values;
  int64_t bytes = 0;  // of the session
};

// `values`: of the graph; none: what the loss compares with labels.
absl::StatusOr<PlannedPrediction> PlanPrediction(const RunSpec& spec, std::vector<std::string> values);

// As `trainer plan --format=json` prints it.
absl::StatusOr<std::string> PlanAsJson(const RunSpec& spec);

}  // namespace partita::service

#endif  // PARTITA_TOOLS_SERVICE_REQUESTS_PLANNED_RUN_H_
