#include "graph/lower/join_scalars.h"

#include <algorithm>
#include <vector>

#include "graph/ir/op_definition.h"
#include "runtime/base/status.h"

namespace partita {
namespace {

// The only launch of an op in this role; -1: there are none, or several.
int OnlyLaunch(const LocalProgram& program, Role role) {
  int only = -1;
  for (size_t l = 0; l < program.launches.size(); ++l) {
    const auto* const kernel = std::get_if<LocalKernel>(&program.launches[l].work);
    if (kernel == nullptr || kernel->node.op->role != role) continue;
    if (only >= 0) return -1;
    only = static_cast<int>(l);
  }
  return only;
}

LocalKernel& KernelOf(LocalProgram& program, int launch) {
  return std::get<LocalKernel>(program.launches[static_cast<size_t>(launch)].work);
}

// Whether they compute from the same step's number, in one type.
bool Fit(const LocalKernel& apply, const LocalKernel& rate, const LocalKernel& increment) {
  return rate.inputs[0].tensor == increment.inputs[0].tensor && increment.inputs[1].tensor == apply.outputs[0].tensor &&
         apply.node.inputs[0]->dtype == rate.node.outputs[0].dtype;
}

}  // namespace

absl::Status JoinScalars(LocalProgram& program, const KernelCatalogue& kernels) {
  const int first = OnlyLaunch(program, Role::kAllFinite);
  const int rate = OnlyLaunch(program, Role::kLearningRate), increment = OnlyLaunch(program, Role::kIncrement);
  if (first < 0 || rate < first || increment < first) return absl::OkStatus();
  LocalKernel& joint = KernelOf(program, first);
  const LocalKernel &of_rate = KernelOf(program, rate), &of_increment = KernelOf(program, increment);
  if (!Fit(joint, of_rate, of_increment)) return absl::OkStatus();
  joint.node.attributes = of_rate.node.attributes;
  joint.node.inputs.push_back(of_rate.node.inputs[0]);
  joint.inputs.push_back(of_rate.inputs[0]);
  for (const LocalKernel* each : {&of_rate, &of_increment}) {
    joint.node.outputs.push_back(each->node.outputs[0]);
    joint.outputs.push_back(each->outputs[0]);
  }
  LocalLaunch& launch = program.launches[static_cast<size_t>(first)];
  const std::vector<InPlace>& in_place = program.launches[static_cast<size_t>(increment)].in_place;
  launch.in_place.insert(launch.in_place.end(), in_place.begin(), in_place.end());
  launch.name += " and 2 more";
  joint.node.name = launch.name;
  ASSIGN_OR_RETURN(joint.choice, kernels.Choose(joint.node));
  joint.workspace = program.AddWorkspace(joint.choice, launch.name);
  program.launches.erase(program.launches.begin() + std::max(rate, increment));
  program.launches.erase(program.launches.begin() + std::min(rate, increment));
  return absl::OkStatus();
}

}  // namespace partita
