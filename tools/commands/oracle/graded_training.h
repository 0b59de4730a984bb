// A training run that is compared with its prediction.
#ifndef PARTITA_TOOLS_COMMANDS_ORACLE_GRADED_TRAINING_H_
#define PARTITA_TOOLS_COMMANDS_ORACLE_GRADED_TRAINING_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "partitioner/explain/kind_seconds.h"
#include "partitioner/simulate/step_prediction.h"
#include "proto/report.pb.h"
#include "run/plan/machine.h"
#include "runtime/api/session.h"
#include "runtime/api/step_meter.h"
#include "tools/commands/oracle/history.h"
#include "tools/commands/oracle/kind_meter.h"

namespace partita {

// Thread-compatible.
class GradedTraining {
 public:
  // Of a run on that machine, which has a device for each rank. The session must outlive it.
  static absl::StatusOr<GradedTraining> Begin(Session& session, const Machine& machine);

  // After a training step.
  void AddStep() {
    meter_.AddStep();
    kinds_.AddStep();
  }

  // Adds to the report what is predicted of the step and its memory; nothing of a cluster of other devices than these.
  void AddPredicted(ReportProto& report) const;
  // Collective: adds to the report what was predicted and measured, of the step and its memory and of each kind of its
  // launches; nothing where no step was recorded, or of a cluster of other devices than these.
  absl::Status AddTo(ReportProto& report) const;
  // The same as a history line, for a run without a report; empty without terms.
  absl::StatusOr<GradedRun> Run(const std::string& model, int64_t steps) const;

 private:
  GradedTraining(Session& session, const Machine& machine, StepPrediction predicted);

  Session* session_;
  std::string cluster_;
  bool comparable_;
  StepPrediction predicted_;
  KindSeconds predicted_kinds_;  // of each the most of any rank
  StepMeter meter_;
  KindMeter kinds_;
};

// The line of a report's run in a history.
GradedRun RunOf(const ReportProto& report);

// A run of this program on this host, now; without what it is of and its terms.
GradedRun RunHere();

// --history, else `history.jsonl` in the cache's folder; empty: there is none.
std::string HistoryPath(const std::string& given);

// Appends runs that have terms to the history. If the user did not name one, a history that cannot be written is only a
// warning.
absl::Status KeepRuns(const std::vector<GradedRun>& runs, const std::string& history);

// The same of a report's run, if it was graded.
absl::Status KeepHistory(const ReportProto& report, const std::string& history);

}  // namespace partita

#endif  // PARTITA_TOOLS_COMMANDS_ORACLE_GRADED_TRAINING_H_
