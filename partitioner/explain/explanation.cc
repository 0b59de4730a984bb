#include "partitioner/explain/explanation.h"

#include <algorithm>
#include <utility>
#include <variant>

namespace partita {

const StepMove* Explanation::MoveOf(const CollectiveShares& collective) const {
  const auto found = std::ranges::lower_bound(moves, collective.node, {}, &StepMove::node);
  return found != moves.end() && found->node == collective.node ? &*found : nullptr;
}

int64_t Explanation::OnPath(const std::string& launch) const {
  int64_t ns = 0;
  for (const PathStretch& stretch : path) ns += stretch.launch->name == launch ? stretch.ns() : 0;
  return ns;
}

Explanation Explain(const PredictedPlan& plan) {
  Arrivals arrivals(plan.program, plan.step);
  std::vector<PathStretch> path = CriticalPath(plan.step, arrivals);
  TimeOfStep time = SharesOf(plan.step, arrivals);
  return {std::move(arrivals), std::move(path), std::move(time), MovesOf(plan.program)};
}

std::string WorkOfGroup(const Program& program, const Launch& launch) {
  const auto* const call = std::get_if<CollectiveLaunch>(&launch.work);
  if (call == nullptr) return KindOfWork(launch);
  return KindOfWork(launch) + " along " + AlongOf(program.groups[call->group].key, program.meshes);
}

}  // namespace partita
