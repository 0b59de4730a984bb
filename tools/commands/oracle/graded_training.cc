#include "tools/commands/oracle/graded_training.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "run/host/cache_folder.h"
#include "run/host/host.h"
#include "run/host/revision.h"
#include "runtime/base/status.h"

namespace partita {
namespace {

bool RunsOn(const Session& session, const Cluster& cluster) {
  return session.gpu_name().empty() == (cluster.KindOf(0).backend == BackendKind::kHost);
}

ReportPredictionProto& AddTerm(const std::string& term, double predicted, ReportProto& report) {
  ReportPredictionProto& prediction = *report.add_predictions();
  prediction.set_term(term);
  prediction.set_predicted(predicted);
  return prediction;
}

void Add(const std::string& term, double predicted, double measured, ReportProto& report) {
  if (measured > 0) AddTerm(term, predicted, report).set_measured(measured);
}

}  // namespace

absl::StatusOr<GradedTraining> GradedTraining::Begin(Session& session, const Machine& machine) {
  FoldedSchedules storage;
  ASSIGN_OR_RETURN(const std::vector<const Schedule*> schedules, session.AllSchedules(kTrainEntry, storage));
  ASSIGN_OR_RETURN(StepPrediction predicted, StepPredictionOf(session.program(), schedules, machine.cluster,
                                                              KernelTimesOf(machine, session.ranks())));
  return GradedTraining(session, machine, std::move(predicted));
}

GradedTraining::GradedTraining(Session& session, const Machine& machine, StepPrediction predicted)
    : session_(&session),
      cluster_(machine.cluster.name),
      comparable_(RunsOn(session, machine.cluster)),
      predicted_(std::move(predicted)),
      meter_(session),
      kinds_(session) {
  for (const RankTimeline& timeline : predicted_.simulated.timelines) {
    RaiseTo(KindSecondsOf(timeline.spans, session.program()), predicted_kinds_);
  }
  predicted_.simulated = {};  // of launches that the session does not keep
}

void GradedTraining::AddPredicted(ReportProto& report) const {
  if (!comparable_) return;
  report.set_cluster(cluster_);
  AddTerm("step", predicted_.step, report);
  AddTerm("compute", predicted_.compute, report);
  if (predicted_.communication > 0) AddTerm("communication", predicted_.communication, report);
  AddTerm("memory", static_cast<double>(predicted_.memory_bytes), report);
}

absl::Status GradedTraining::AddTo(ReportProto& report) const {
  ASSIGN_OR_RETURN(const std::vector<MeasuredStep> ranks, meter_.Job());
  ASSIGN_OR_RETURN(const KindSeconds kinds, kinds_.Job());
  ASSIGN_OR_RETURN(const std::vector<int64_t> memory, session_->JobUsedMemory());
  if (!comparable_ || ranks.empty()) return absl::OkStatus();
  MeasuredStep most;
  for (const MeasuredStep& rank : ranks) {
    most.step = std::max(most.step, rank.step);
    most.compute = std::max(most.compute, rank.compute);
    most.communication = std::max(most.communication, rank.communication);
  }
  report.set_cluster(cluster_);
  Add("step", predicted_.step, most.step, report);
  Add("compute", predicted_.compute, most.compute, report);
  Add("communication", predicted_.communication, most.communication, report);
  Add("memory", static_cast<double>(predicted_.memory_bytes), static_cast<double>(*std::ranges::max_element(memory)),
      report);
  for (const auto& [kind, seconds] : predicted_kinds_) {
    if (const auto measured = kinds.find(kind); measured != kinds.end()) Add(kind, seconds, measured->second, report);
  }
  return absl::OkStatus();
}

absl::StatusOr<GradedRun> GradedTraining::Run(const std::string& model, int64_t steps) const {
  ReportProto report;
  RETURN_IF_ERROR(AddTo(report));
  GradedRun run = RunHere();
  run.terms = RunOf(report).terms;
  run.model = model;
  run.strategy = session_->ranks() == 1 ? "one rank" : ToString(session_->program().meshes);
  run.cluster = cluster_;
  run.steps = steps;
  return run;
}

GradedRun RunOf(const ReportProto& report) {
  GradedRun run{report.time(), report.model(), report.strategy(), "", report.cluster(), report.revision(), 0, {}};
  if (report.devices_size() > 0) run.device = report.devices(0).name();
  for (const ReportEpochProto& epoch : report.epochs()) run.steps += epoch.steps();
  for (const ReportPredictionProto& prediction : report.predictions()) {
    run.terms.push_back({prediction.term(), prediction.predicted(), prediction.measured()});
  }
  return run;
}

GradedRun RunHere() {
  GradedRun run;
  run.time = TimeNow();
  run.device = ThisHost().processor;
  run.revision = kRevision;
  return run;
}

std::string HistoryPath(const std::string& given) {
  if (!given.empty()) return given;
  const std::string folder = CacheFolder();
  return folder.empty() ? "" : folder + "/history.jsonl";
}

absl::Status KeepRuns(const std::vector<GradedRun>& runs, const std::string& history) {
  const std::string path = HistoryPath(history);
  for (const GradedRun& run : runs) {
    if (path.empty()) break;
    if (run.terms.empty()) continue;
    const absl::Status kept = AppendRun(path, run);
    if (kept.ok()) continue;
    if (!history.empty()) return kept;
    spdlog::warn("the run is not in the history: {}", std::string(kept.message()));
    break;
  }
  return absl::OkStatus();
}

absl::Status KeepHistory(const ReportProto& report, const std::string& history) {
  return report.predictions().empty() ? absl::OkStatus() : KeepRuns({RunOf(report)}, history);
}

}  // namespace partita
