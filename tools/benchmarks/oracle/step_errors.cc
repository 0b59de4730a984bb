#include "tools/benchmarks/oracle/step_errors.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>

#include "partitioner/data_model_strategy.h"
#include "partitioner/simulate/step_prediction.h"
#include "runtime/base/median.h"
#include "runtime/base/status.h"
#include "tools/benchmarks/oracle/kind_terms.h"
#include "tools/benchmarks/oracle/timed_training.h"
#include "tools/commands/calibrate/measure_machine.h"

namespace partita {
namespace {

// In which a round calibrates and measures: a round of one long turn is calibrated on another machine than it is
// measured on.
constexpr int64_t kMostTurns = 5;

struct Round {
  double predicted = 0, measured = 0, ratio = 0;  // medians of its turns
};

struct Case {
  StepErrorRow row;
  Model model;
  Strategy strategy;
  std::unique_ptr<TimedTraining> training;
  Turns turns;
  std::vector<Round> rounds;
  PredictedKinds kinds;
};

absl::StatusOr<Case> MakeCase(const MeasuredModel& model, int ranks, const OracleOptions& options) {
  Case made;
  ASSIGN_OR_RETURN(made.model, OracleModel(model));
  ASSIGN_OR_RETURN(made.strategy, DataModelStrategy(made.model.graph, ranks, 1));
  ASSIGN_OR_RETURN(made.training, TimedTraining::Start(made.model, made.strategy));
  ASSIGN_OR_RETURN(const int64_t steps, made.training->StepsFor(options));
  made.turns = TurnsOf(steps, kMostTurns);
  made.row.model = model.name;
  made.row.ranks = ranks;
  return made;
}

// What a profile that was measured now says of the session's step; that of its launches is kept.
absl::StatusOr<double> Predict(Case& one) {
  const int ranks = one.strategy.mesh.size();
  const CalibrationOptions options{OracleProgram(ranks), OracleSession(ranks), one.turns.steps, /*replicas=*/1,
                                   /*collectives=*/false};
  ASSIGN_OR_RETURN(const Profile profile, MeasureMachine(one.model, {&one.strategy, 1}, options));
  ASSIGN_OR_RETURN(const Cluster cluster, ClusterOf(profile, /*processes=*/false));
  const Session& session = one.training->session();
  FoldedSchedules storage;
  ASSIGN_OR_RETURN(const std::vector<const Schedule*> schedules, session.AllSchedules(kTrainEntry, storage));
  ASSIGN_OR_RETURN(const StepPrediction predicted,
                   StepPredictionOf(session.program(), schedules, cluster, KernelTimesFor(profile, one.row.ranks)));
  one.kinds.Add(predicted.simulated, session.program());
  return predicted.step;
}

absl::Status RunRound(Case& one) {
  std::vector<double> predicted, measured, ratios;
  for (int64_t turn = 0; turn < one.turns.count; ++turn) {
    ASSIGN_OR_RETURN(predicted.emplace_back(), Predict(one));
    ASSIGN_OR_RETURN(measured.emplace_back(), one.training->Run(one.turns.steps));
    ratios.push_back(predicted.back() / measured.back());
  }
  one.rounds.push_back({Median(std::move(predicted)), Median(std::move(measured)), Median(std::move(ratios))});
  return absl::OkStatus();
}

absl::StatusOr<StepErrorRow> Finish(Case one) {
  StepErrorRow row = std::move(one.row);
  std::vector<double> predicted, measured, ratios;
  for (const Round& round : one.rounds) {
    predicted.push_back(round.predicted);
    measured.push_back(round.measured);
    ratios.push_back(round.ratio);
  }
  row.predicted = QuartilesOf(std::move(predicted));
  row.measured = QuartilesOf(std::move(measured));
  row.ratio = QuartilesOf(std::move(ratios));
  const Session& session = one.training->session();
  for (const int rank : session.local_ranks()) {
    if (session.UsedMemory(rank) <= row.used_bytes) continue;
    row.used_bytes = session.UsedMemory(rank);
    row.planned_bytes = session.PlannedMemory(rank).total;
  }
  row.predicted_wire = one.training->predicted_bytes();
  row.counted_wire = one.training->counted_bytes();
  row.predicted_kinds = one.kinds.Medians();
  ASSIGN_OR_RETURN(row.measured_kinds, one.training->Kinds());
  return row;
}

}  // namespace

double StepErrorRow::error() const { return std::abs(ratio.median - 1); }

bool StepErrorRow::holds() const {
  const bool exact = planned_bytes == used_bytes && predicted_wire == counted_wire;
  return exact && (refused() || error() <= allowed());
}

absl::StatusOr<std::vector<StepErrorRow>> MeasureStepErrors(const MeasuredModel& model, const OracleOptions& options) {
  std::vector<Case> cases;
  for (int ranks = 1; ranks <= options.most_ranks; ranks *= 2) {
    ASSIGN_OR_RETURN(Case made, MakeCase(model, ranks, options));
    cases.push_back(std::move(made));
  }
  for (int64_t round = 0; round < options.rounds; ++round) {
    options.progress(fmt::format("{}, steps of replicas: round {} of {}", model.name, round + 1, options.rounds));
    for (Case& one : cases) RETURN_IF_ERROR(RunRound(one));
  }
  std::vector<StepErrorRow> rows;
  for (Case& one : cases) {
    ASSIGN_OR_RETURN(StepErrorRow row, Finish(std::move(one)));
    rows.push_back(std::move(row));
  }
  return rows;
}

}  // namespace partita
