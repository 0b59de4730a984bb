#include "graph/lower/join_scalars.h"

#include <algorithm>
#include <functional>
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

// Whether the factor of the clip follows from the squares that `apply` reads.
bool ClipsBy(const LocalKernel& apply, const LocalKernel& clip) {
  return apply.inputs.size() > 1 && apply.inputs[1].tensor != kNoTensor &&
         apply.inputs[1].tensor == clip.inputs[0].tensor && apply.inputs[1].offset == clip.inputs[0].offset;
}

}  // namespace

absl::Status JoinScalars(LocalProgram& program, const KernelCatalogue& kernels) {
  const int first = OnlyLaunch(program, Role::kAllFinite);
  const int rate = OnlyLaunch(program, Role::kLearningRate), increment = OnlyLaunch(program, Role::kIncrement);
  if (first < 0 || rate < first || increment < first) return absl::OkStatus();
  LocalKernel& joint = KernelOf(program, first);
  if (!Fit(joint, KernelOf(program, rate), KernelOf(program, increment))) return absl::OkStatus();
  std::vector<int> others = {rate, increment};
  const int clip = OnlyLaunch(program, Role::kClipScale);
  if (clip > first && ClipsBy(joint, KernelOf(program, clip))) others.push_back(clip);
  joint.node.inputs.push_back(KernelOf(program, rate).node.inputs[0]);
  joint.inputs.push_back(KernelOf(program, rate).inputs[0]);
  LocalLaunch& launch = program.launches[static_cast<size_t>(first)];
  for (const int other : others) {
    const LocalKernel& each = KernelOf(program, other);
    for (const auto& [name, value] : each.node.attributes.entries()) joint.node.attributes.Set(name, value);
    joint.node.outputs.push_back(each.node.outputs[0]);
    joint.outputs.push_back(each.outputs[0]);
    if (other != increment) continue;
    const std::vector<InPlace>& in_place = program.launches[static_cast<size_t>(other)].in_place;
    launch.in_place.insert(launch.in_place.end(), in_place.begin(), in_place.end());
  }
  launch.name += fmt::format(" and {} more", others.size());
  joint.node.name = launch.name;
  ASSIGN_OR_RETURN(joint.choice, kernels.Choose(joint.node));
  joint.workspace = program.AddWorkspace(joint.choice, launch.name);
  std::ranges::sort(others, std::greater<>());
  for (const int other : others) program.launches.erase(program.launches.begin() + other);
  return absl::OkStatus();
}

}  // namespace partita
