#include "tools/benchmarks/models/step_work.h"

#include <memory>
#include <variant>

#include "graph/ir/node_flops.h"
#include "ops/registry.h"
#include "runtime/api/backend/backend.h"
#include "runtime/base/status.h"
#include "runtime/train/trainer.h"

namespace partita {

absl::StatusOr<StepWork> WorkOfStep(const ModelCase& measured) {
  ASSIGN_OR_RETURN(Model model, MakeMeasuredModel(measured.sizes));
  SetScheduleLength(1, model.learning_rate);
  ASSIGN_OR_RETURN(const Program program,
                   MakeProgram(model, Strategy{}, Ops(), ProgramOptionsOf(measured, model.graph, 1)));
  ASSIGN_OR_RETURN(const std::unique_ptr<Backend> backend,
                   Backend::OpenToPlan(1, Spread::kThreads, SessionOptionsOf(measured, 1)));
  const Graph& graph = program.graph(kTrainEntry);
  ASSIGN_OR_RETURN(const std::vector<Schedule> schedules, backend->MakeSchedules(program, graph));
  StepWork work;
  for (const Node& node : graph.nodes()) work.flops += FlopsOf(graph, node);
  for (const Launch& launch : schedules[0].launches) {
    const auto* const kernel = std::get_if<KernelLaunch>(&launch.work);
    if (kernel == nullptr) continue;
    work.launches.push_back({FlopsOf(kernel->node), BytesOf(kernel->node)});
  }
  return work;
}

}  // namespace partita
