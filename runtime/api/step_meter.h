// Measures training steps from their recorded timelines: computing time, communication time, total time.
#ifndef PARTITA_RUNTIME_API_STEP_METER_H_
#define PARTITA_RUNTIME_API_STEP_METER_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/api/session.h"

namespace partita {

// Seconds of a rank's step, as of StepTimes; medians over the steps.
struct MeasuredStep {
  int rank = 0;
  int64_t steps = 0;
  double step = 0;
  double compute = 0;
  double communication = 0;
};

// Thread-compatible.
class StepMeter {
 public:
  // From now on the session records on the host; on a GPU only if its options ask for it. The session must outlive the
  // meter.
  explicit StepMeter(Session& session);

  // After a training step. Of very many the first are taken.
  void AddStep();

  // Collective: by rank, of all processes, those that have recorded a step.
  absl::StatusOr<std::vector<MeasuredStep>> Job() const;

 private:
  struct Rank {
    int rank = 0;
    std::vector<double> step, compute, communication;
  };

  Session* session_;
  std::vector<Rank> ranks_;  // of this process
};

}  // namespace partita

#endif  // PARTITA_RUNTIME_API_STEP_METER_H_
