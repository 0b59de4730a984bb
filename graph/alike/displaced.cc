#include "graph/alike/displaced.h"

#include "graph/ir/entry_point.h"
#include "graph/ir/op_definition.h"
#include "runtime/base/check.h"

namespace partita {
namespace {

void Displace(Box& box, const Shape& by) {
  for (size_t d = 0; d < by.size(); ++d) box.offset[d] += by[d];
}

// The parts of operands, and the memory in which they lie, are displaced as the values are.
void Displace(LocalNode& node, const std::vector<ValueId>& operands, const std::vector<Shape>& values) {
  CHECK(operands.size() == node.inputs.size() + node.outputs.size());
  for (size_t p = 0; p < operands.size(); ++p) {
    if (operands[p] == kNoValue || values[static_cast<size_t>(operands[p])].empty()) continue;
    const Shape& by = values[static_cast<size_t>(operands[p])];
    if (p >= node.inputs.size()) {
      Displace(node.outputs[p - node.inputs.size()].box, by);
    } else if (node.inputs[p]) {
      Displace(node.inputs[p]->box, by);
    }
    if (!node.within.empty()) Displace(node.within[p], by);
  }
}

}  // namespace

OperandValues OperandValuesOf(const LocalProgram& lowered) {
  OperandValues values(lowered.launches.size());
  for (size_t l = 0; l < values.size(); ++l) {
    const auto* const kernel = std::get_if<LocalKernel>(&lowered.launches[l].work);
    if (kernel == nullptr) continue;
    values[l].reserve(kernel->inputs.size() + kernel->outputs.size());
    for (const auto* const operands : {&kernel->inputs, &kernel->outputs}) {
      for (const Operand& operand : *operands) values[l].push_back(operand.value);
    }
  }
  return values;
}

Schedule Displaced(const Graph& entry, const Schedule& like, const OperandValues& operands,
                   const Displacement& displacement, int rank) {
  Schedule schedule = like;
  schedule.rank = rank;
  for (size_t l = 0; l < schedule.launches.size(); ++l) {
    auto& work = schedule.launches[l].work;
    if (auto* const kernel = std::get_if<KernelLaunch>(&work)) {
      Displace(kernel->node, operands[l], displacement.values);
    } else if (auto* const collective = std::get_if<CollectiveLaunch>(&work)) {
      collective->group = displacement.groups.at(collective->group);
    }
  }
  for (size_t v = 0; v < schedule.values.size(); ++v) {
    Displace(schedule.values[v].tensor.box, displacement.values[v]);
  }
  for (size_t s = 0; s < schedule.states.size(); ++s) {
    Displace(schedule.states[s].tensor.box, displacement.states[s]);
  }
  for (RoundedState& rounded : schedule.rounded) {
    Displace(rounded.placement.tensor.box, displacement.states[static_cast<size_t>(rounded.state)]);
  }
  for (std::vector<Placement>* const placements : {&schedule.inputs, &schedule.results}) {
    for (Placement& placement : *placements) {
      Displace(placement.tensor.box, displacement.values[static_cast<size_t>(entry.Find(placement.name))]);
    }
  }
  return schedule;
}

}  // namespace partita
