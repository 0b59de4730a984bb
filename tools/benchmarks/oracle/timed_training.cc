#include "tools/benchmarks/oracle/timed_training.h"

#include <utility>
#include <vector>

#include "partitioner/clusters/cluster_by_default.h"
#include "runtime/base/median.h"
#include "runtime/base/status.h"
#include "tools/commands/calibrate/measure_steps.h"

namespace partita {
namespace {

constexpr int64_t kTrialSteps = 5;

}  // namespace

absl::StatusOr<Model> OracleModel(const MeasuredModel& model) {
  ASSIGN_OR_RETURN(Model made, MakeMeasuredModel(model));
  made.learning_rate = {.base = 0, .steps = 1};
  return made;
}

ProgramOptions OracleProgram(int ranks) { return {.speed = SpeedByDefault(ranks)}; }

SessionOptions OracleSession(int ranks) {
  SessionOptions session;
  session.speed = SpeedByDefault(ranks);
  session.threads_per_rank = 1;
  session.record_timeline = true;
  return session;
}

absl::StatusOr<std::unique_ptr<TimedTraining>> TimedTraining::Start(const Model& model, const Strategy& strategy) {
  const int ranks = strategy.mesh.size();
  ASSIGN_OR_RETURN(std::unique_ptr<TrainingLoop> loop,
                   TrainingLoop::Create(model, strategy, OracleProgram(ranks), OracleSession(ranks)));
  loop->session().RecordTimeline(true);
  return std::unique_ptr<TimedTraining>(new TimedTraining(std::move(loop)));
}

absl::StatusOr<int64_t> TimedTraining::StepsFor(const OracleOptions& options) {
  ASSIGN_OR_RETURN(const double seconds, Run(kTrialSteps));
  return StepsOfRound(options, seconds);
}

absl::StatusOr<double> TimedTraining::Run(int64_t steps) {
  std::vector<double> seconds;
  ASSIGN_OR_RETURN(const TrainingResult result, loop_->Run(steps, [&] {
    seconds.push_back(SecondsOfStep(session()));
    kinds_.AddStep();
  }));
  for (const MoveBytes& bytes : session().PredictedBytes(kTrainEntry)) predicted_bytes_ += bytes.wire * steps;
  for (const GroupTraffic& group : result.traffic) counted_bytes_ += group.bytes.wire;
  return Median(std::move(seconds));
}

}  // namespace partita
