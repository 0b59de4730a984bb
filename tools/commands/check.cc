// `trainer check`: everything about graph and strategy that can be known without running, and nothing is written.
#include <fmt/ranges.h>

#include "graph/ir/generated_name.h"
#include "run/start.h"
#include "runtime/base/number.h"
#include "runtime/base/status.h"
#include "runtime/train/batch_feed.h"
#include "runtime/train/graph_fields.h"
#include "tools/commands/commands.h"
#include "tools/program/exit_code.h"

namespace partita {
namespace {

// Whether data as the graph asks for it fills the inputs of the entry points that `train` feeds.
absl::Status CheckFeeds(const Program& program, const Graph& graph, const std::string& size) {
  ASSIGN_OR_RETURN(const int64_t rows, BatchRows(graph));
  std::vector<Field> fields = {{kSampleWeightName, DType::kF32, {}}};
  for (const WantedField& wanted : WantedFields(graph, DType::kF32)) fields.push_back(wanted.field);
  for (const char* const use : {kTrainEntry, kEvaluateEntry}) {
    RETURN_IF_ERROR(CheckFeed(*program.Find(EntryName(use, size)), fields, rows));
  }
  return absl::OkStatus();
}

absl::StatusOr<int> Check(const ContextOf<RunSpec>& context) {
  ASSIGN_OR_RETURN(const RunPlan plan, PlanRun(context.spec, {.runs = false, .trains = false, .processes = false}));
  const Model& model = plan.model;
  const Strategy& strategy = plan.chosen.strategy;
  ASSIGN_OR_RETURN(const Program program, ProgramOf(context.spec, plan, {}));
  RETURN_IF_ERROR(WithContext(context.spec.model().graph(), CheckFeeds(program, model.graph, "")));
  for (const ModelEntry& entry : model.entries) {
    if (!entry.is_size()) continue;
    RETURN_IF_ERROR(WithContext(context.spec.model().graph(), CheckFeeds(program, entry.graph, entry.name)));
  }
  context.out << fmt::format("graph     ok: {}, {}\n", Counted(model.graph.nodes().size(), "node"),
                             Counted(model.graph.states().size(), "state"));
  context.out << fmt::format("strategy  ok: mesh {}, {}\n", ToString(MeshesOf(strategy)),
                             Counted(strategy.ops.size(), "entry"));
  context.out << fmt::format("program   ok: {} to train, {} to evaluate, {}\n",
                             Counted(program.graph(kTrainEntry).nodes().size(), "node"),
                             program.graph(kEvaluateEntry).nodes().size(), Counted(program.groups.size(), "group"));
  if (!model.entries.empty()) {
    std::vector<std::string> names;
    for (const EntryPoint& entry : program.entries) names.push_back(entry.name);
    context.out << fmt::format("entries   ok: {}\n", fmt::join(names, ", "));
  }
  return kExitFinished;
}

}  // namespace

Command CheckCommand() {
  return {"check", "check a graph and a strategy without running them", "GRAPH", Runs<RunSpec>(Check)};
}

}  // namespace partita
