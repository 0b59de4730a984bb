#include "graph/lower/drop_ones.h"

#include <vector>

#include "graph/ir/op_definition.h"
#include "runtime/base/status.h"

namespace partita {
namespace {

// A scalar that is 1.
bool MakesOne(const LocalLaunch& launch) {
  const auto* const kernel = std::get_if<LocalKernel>(&launch.work);
  return kernel != nullptr && kernel->node.op->role == Role::kConstant && kernel->node.outputs[0].global.empty() &&
         kernel->node.attributes.Float("value") == 1;
}

// The operand without which the launch means the same if it is 1; null: it has none.
Operand* Multiplier(LocalLaunch& launch) {
  auto* const kernel = std::get_if<LocalKernel>(&launch.work);
  const int input = kernel == nullptr ? -1 : kernel->node.op->one_if_absent;
  return input < 0 ? nullptr : &kernel->inputs[static_cast<size_t>(input)];
}

// By tensor: it is a 1 that only such operands read.
std::vector<bool> Needless(LocalProgram& program) {
  std::vector<bool> needless(program.tensors.size(), false);
  for (const LocalLaunch& launch : program.launches) {
    if (!MakesOne(launch)) continue;
    const TensorId one = std::get<LocalKernel>(launch.work).outputs[0].tensor;
    if (one != kNoTensor) needless[one] = program.tensors[one].inside == kNoTensor;
  }
  std::vector<int> others(program.tensors.size(), 0);
  for (LocalLaunch& launch : program.launches) {
    VisitTensors(launch, [&](TensorId tensor, bool write) { others[tensor] += write ? 0 : 1; });
    const Operand* const operand = Multiplier(launch);
    if (operand != nullptr && operand->tensor != kNoTensor) --others[operand->tensor];
  }
  for (const Result& result : program.results) ++others[result.tensor];
  for (const StateUpdate& update : program.updates) ++others[update.update];
  for (size_t tensor = 0; tensor < needless.size(); ++tensor) {
    if (others[tensor] > 0) needless[tensor] = false;
  }
  return needless;
}

}  // namespace

absl::Status DropOnes(LocalProgram& program, const KernelCatalogue& kernels) {
  const std::vector<bool> needless = Needless(program);
  for (LocalLaunch& launch : program.launches) {
    Operand* const operand = Multiplier(launch);
    if (operand == nullptr || operand->tensor == kNoTensor || !needless[operand->tensor]) continue;
    *operand = {};
    auto& kernel = std::get<LocalKernel>(launch.work);
    kernel.node.inputs[static_cast<size_t>(kernel.node.op->one_if_absent)].reset();
    ASSIGN_OR_RETURN(kernel.choice, kernels.Choose(kernel.node));
    kernel.workspace = program.AddWorkspace(kernel.choice, launch.name);
  }
  std::erase_if(program.launches, [&](const LocalLaunch& launch) {
    return MakesOne(launch) && std::get<LocalKernel>(launch.work).outputs[0].tensor != kNoTensor &&
           needless[std::get<LocalKernel>(launch.work).outputs[0].tensor];
  });
  for (TensorId& tensor : program.tensor_of) {
    if (tensor != kNoTensor && static_cast<size_t>(tensor) < needless.size() && needless[tensor]) tensor = kNoTensor;
  }
  return absl::OkStatus();
}

}  // namespace partita
