#include "graph/lower/drop_ones.h"

#include <algorithm>
#include <vector>

#include "graph/ir/op_definition.h"
#include "graph/lower/tensor_uses.h"
#include "runtime/base/status.h"

namespace partita {
namespace {

// A scalar that is 1.
bool MakesOne(const LocalLaunch& launch) {
  const auto* const kernel = std::get_if<LocalKernel>(&launch.work);
  return kernel != nullptr && kernel->node.op->role == Role::kConstant && kernel->node.outputs[0].global.empty() &&
         kernel->node.attributes.Float("value") == 1;
}

// The place of the operand without which the launch means the same if it is 1; -1: it has none.
int Multiplier(const LocalLaunch& launch) {
  const auto* const kernel = std::get_if<LocalKernel>(&launch.work);
  return kernel == nullptr ? -1 : kernel->node.op->one_if_absent;
}

// By tensor: it is a 1 that only such operands read.
std::vector<bool> Needless(const LocalProgram& program) {
  std::vector<bool> needless(program.tensors.size(), false);
  const TensorUses uses(program);
  for (size_t l = 0; l < program.launches.size(); ++l) {
    if (!MakesOne(program.launches[l])) continue;
    const TensorId one = std::get<LocalKernel>(program.launches[l].work).outputs[0].tensor;
    if (one == kNoTensor) continue;
    needless[one] = uses.ByKernelsAlone(one) && std::ranges::all_of(uses.of(one), [&](const TensorUse& use) {
                      return use.launch == static_cast<int>(l) ||
                             static_cast<int>(use.operand) == Multiplier(program.launches[use.launch]);
                    });
  }
  return needless;
}

}  // namespace

absl::Status DropOnes(LocalProgram& program, const KernelCatalogue& kernels) {
  const std::vector<bool> needless = Needless(program);
  for (LocalLaunch& launch : program.launches) {
    const int place = Multiplier(launch);
    if (place < 0) continue;
    auto& kernel = std::get<LocalKernel>(launch.work);
    Operand& operand = kernel.inputs[static_cast<size_t>(place)];
    if (operand.tensor == kNoTensor || !needless[operand.tensor]) continue;
    operand = {};
    kernel.node.inputs[static_cast<size_t>(place)].reset();
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
