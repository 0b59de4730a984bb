#include "tools/service/requests/planned_run.h"

#include <algorithm>
#include <memory>
#include <numeric>
#include <sstream>
#include <utility>

#include "graph/ir/program.h"
#include "graph/make_schedule.h"
#include "graph/read/predicted_value.h"
#include "run/plan/machine.h"
#include "run/plan/pixel_forms.h"
#include "run/plan/planned_process.h"
#include "run/plan/run_options.h"
#include "run/start.h"
#include "runtime/api/backend/backend.h"
#include "runtime/base/number.h"
#include "runtime/base/status.h"
#include "runtime/telemetry/progress.h"
#include "tools/commands/commands.h"
#include "tools/service/requests/data_bytes.h"

namespace partita::service {
namespace {

absl::Status CheckRanks(int64_t ranks, const PlanLimits& limits) {
  if (ranks <= limits.ranks) return absl::OkStatus();
  return ResourceExhausted("the run has {}; the service allows {} for one run (--ranks)", Counted(ranks, "rank"),
                           limits.ranks);
}

// By rank: the arena, which all entry points share; and the launches of training steps.
struct Arenas {
  std::vector<int64_t> bytes;
  int64_t launches = 0;
};

absl::StatusOr<Arenas> ArenasOf(const RunSpec& spec, const RunPlan& plan, const Program& program) {
  ASSIGN_OR_RETURN(const std::unique_ptr<Backend> backend,
                   Backend::OpenToPlan(program.ranks(), Spread::kThreads, ReadPlanOptions(spec, plan.speed)));
  Arenas arenas;
  arenas.bytes.resize(static_cast<size_t>(program.ranks()));
  for (const EntryPoint& entry : program.entries) {
    ASSIGN_OR_RETURN(const FoldedSchedules folded, backend->MakeFoldedSchedules(program, entry.graph));
    for (size_t rank = 0; rank < arenas.bytes.size(); ++rank) {
      const Schedule& schedule = folded.schedules[static_cast<size_t>(folded.of_rank[rank])];
      arenas.bytes[rank] = std::max(arenas.bytes[rank], schedule.memory.total);
      if (entry.name == kTrainEntry) arenas.launches += static_cast<int64_t>(schedule.launches.size());
    }
  }
  return arenas;
}

}  // namespace

absl::StatusOr<PlannedRun> PlanTraining(const RunSpec& spec, const PlanLimits& limits) {
  RETURN_IF_ERROR(CheckRanks(std::max(spec.split().ranks(), spec.split().dp() * spec.split().mp()), limits));
  ASSIGN_OR_RETURN(const RunPlan plan, PlanRun(spec, {.runs = false, .trains = false, .processes = false}));
  RETURN_IF_ERROR(CheckRanks(plan.chosen.strategy.mesh.size(), limits));
  ASSIGN_OR_RETURN(const Program program, ProgramOf(spec, plan, {.given = AssumedForms(plan.model.graph)}));
  ASSIGN_OR_RETURN(const Arenas arenas, ArenasOf(spec, plan, program));
  PlannedRun planned{program.ranks(), 0};
  const int64_t data = DataBytes(spec.dataset());
  planned.bytes = data;
  if (spec.execution().device() != "host") return planned;
  std::vector<int> ranks(arenas.bytes.size());
  std::iota(ranks.begin(), ranks.end(), 0);
  const int64_t all = std::accumulate(arenas.bytes.begin(), arenas.bytes.end(), int64_t{0});
  planned.bytes += PlanProcess(program, ranks, arenas.launches, all).total();
  if (planned.bytes <= limits.bytes) return planned;
  return ResourceExhausted(
      "the run needs {}{} of memory by its plan; the service allows {} for all runs together (--memory)",
      FormatBytes(planned.bytes), data == 0 ? "" : fmt::format(", {} of them for its data,", FormatBytes(data)),
      FormatBytes(limits.bytes));
}

absl::StatusOr<PlannedPrediction> PlanPrediction(const RunSpec& spec, std::vector<std::string> values) {
  ASSIGN_OR_RETURN(const RunPlan plan, PlanRun(spec, {.runs = false, .trains = false, .processes = false}));
  if (values.empty()) {
    const ValueId value = PredictedValueOf(plan.model.graph);
    if (value == kNoValue) {
      return InvalidArgument("the request names no values, and the loss of the graph is made of several; name them");
    }
    values.push_back(plan.model.graph.value(value).name);
  }
  ASSIGN_OR_RETURN(const Program program, ProgramOf(spec, plan, {.predictions = values, .trains = false}));
  ASSIGN_OR_RETURN(const Arenas arenas, ArenasOf(spec, plan, program));
  return PlannedPrediction{std::move(values), std::accumulate(arenas.bytes.begin(), arenas.bytes.end(), int64_t{0})};
}

absl::StatusOr<std::string> PlanAsJson(const RunSpec& spec) {
  RunSpec asked = spec;
  asked.mutable_output()->set_format("json");
  std::ostringstream out;
  RETURN_IF_ERROR(PlanCommand().run({asked, out, {}, {}}).status());
  return std::move(out).str();
}

}  // namespace partita::service
