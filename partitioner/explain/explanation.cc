#include "partitioner/explain/explanation.h"

#include <algorithm>
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
  const Arrivals arrivals(plan.program, plan.step);
  return {CriticalPath(plan.step, arrivals), SharesOf(plan.step, arrivals), MovesOf(plan.program)};
}

std::string WorkOfGroup(const Program& program, const Launch& launch) {
  const auto* const call = std::get_if<CollectiveLaunch>(&launch.work);
  if (call == nullptr) return KindOfWork(launch);
  return KindOfWork(launch) + " along " + AlongOf(program.groups[call->group].key, program.meshes);
}

}  // namespace partita
