// A session that trains on this machine's host, each rank with one thread, and times its steps in the way that
// predictions define them.
#ifndef PARTITA_TOOLS_BENCHMARKS_ORACLE_TIMED_TRAINING_H_
#define PARTITA_TOOLS_BENCHMARKS_ORACLE_TIMED_TRAINING_H_

#include <cstdint>
#include <memory>

#include "absl/status/statusor.h"
#include "graph/derive/strategy.h"
#include "graph/ir/model.h"
#include "graph/make_program.h"
#include "runtime/api/rank/session_options.h"
#include "tools/benchmarks/models/measured_models.h"
#include "tools/benchmarks/oracle/oracle_options.h"
#include "tools/benchmarks/train/training_loop.h"
#include "tools/commands/oracle/kind_meter.h"

namespace partita {

// What is trained: at a rate of 0, as random samples teach nothing, and a loss that is not finite would end the run.
// kInvalidArgument: as MakeMeasuredModel.
absl::StatusOr<Model> OracleModel(const MeasuredModel& model);

// The options for training this number of ranks and for predicting them: default speeds, one thread each.
ProgramOptions OracleProgram(int ranks);
SessionOptions OracleSession(int ranks);

// Thread-compatible.
class TimedTraining {
 public:
  static absl::StatusOr<std::unique_ptr<TimedTraining>> Start(const Model& model, const Strategy& strategy);

  Session& session() { return loop_->session(); }

  // Runs this number of further steps: the median of their seconds, each until the last launch of the last rank has
  // ended.
  absl::StatusOr<double> Run(int64_t steps);

  // StepsOfRound, by a few steps that are run for it.
  absl::StatusOr<int64_t> StepsFor(const OracleOptions& options);

  // Of each kind of launches the median of the steps, of the rank with the most.
  absl::StatusOr<KindSeconds> Kinds() const { return kinds_.Job(); }

  // Of all steps so far: bytes on wires, as predicted and as counted.
  int64_t predicted_bytes() const { return predicted_bytes_; }
  int64_t counted_bytes() const { return counted_bytes_; }

 private:
  explicit TimedTraining(std::unique_ptr<TrainingLoop> loop) : loop_(std::move(loop)), kinds_(loop_->session()) {}

  std::unique_ptr<TrainingLoop> loop_;
  KindMeter kinds_;
  int64_t predicted_bytes_ = 0, counted_bytes_ = 0;
};

}  // namespace partita

#endif  // PARTITA_TOOLS_BENCHMARKS_ORACLE_TIMED_TRAINING_H_
