#include "graph/lower/fold_update_casts.h"

#include <algorithm>
#include <vector>

#include "graph/ir/op_definition.h"
#include "graph/lower/tensor_uses.h"

namespace partita {
namespace {

// From bf16 to f32.
bool Widens(const LocalLaunch& launch) {
  const auto* const kernel = std::get_if<LocalKernel>(&launch.work);
  return kernel != nullptr && kernel->node.op->role == Role::kCast && kernel->node.inputs[0]->dtype == DType::kBF16 &&
         kernel->node.outputs[0].dtype == DType::kF32;
}

// The place of an update's operand that may be bf16; -1: the launch has none.
int NarrowOperand(const LocalLaunch& launch) {
  const auto* const kernel = std::get_if<LocalKernel>(&launch.work);
  return kernel == nullptr ? -1 : kernel->node.op->takes_bf16;
}

bool ReadsWholeAt(const LocalLaunch& launch, size_t operand) {
  return static_cast<int>(operand) == NarrowOperand(launch) &&
         std::get<LocalKernel>(launch.work).inputs[operand].offset == 0;
}

// Of the launch that casts: besides it only updates touch what it makes, which may read what it reads instead.
bool OnlyUpdatesRead(const LocalProgram& program, const TensorUses& uses, int cast, TensorId made) {
  return uses.ByKernelsAlone(made) && std::ranges::all_of(uses.of(made), [&](const TensorUse& use) {
           return use.launch == cast || ReadsWholeAt(program.launches[use.launch], use.operand);
         });
}

}  // namespace

void FoldUpdateCasts(LocalProgram& program) {
  const TensorUses uses(program);
  std::vector<bool> folded(program.tensors.size(), false);  // by tensor: updates read what it was cast from
  for (size_t l = 0; l < program.launches.size(); ++l) {
    if (!Widens(program.launches[l])) continue;
    const auto& cast = std::get<LocalKernel>(program.launches[l].work);
    const TensorId made = cast.outputs[0].tensor;
    if (made == kNoTensor || !OnlyUpdatesRead(program, uses, static_cast<int>(l), made)) continue;
    folded[made] = true;
    for (const TensorUse& use : uses.of(made)) {
      if (use.launch == static_cast<int>(l)) continue;
      auto& update = std::get<LocalKernel>(program.launches[use.launch].work);
      update.inputs[use.operand] = cast.inputs[0];
      update.node.inputs[use.operand]->dtype = DType::kBF16;
    }
  }
  std::erase_if(program.launches, [&](const LocalLaunch& launch) {
    if (!Widens(launch)) return false;
    const TensorId made = std::get<LocalKernel>(launch.work).outputs[0].tensor;
    return made != kNoTensor && folded[made];
  });
  for (TensorId& tensor : program.tensor_of) {
    if (tensor != kNoTensor && folded[tensor]) tensor = kNoTensor;
  }
}

}  // namespace partita
