#include "graph/lower/fold_update_casts.h"

#include <vector>

#include "graph/ir/op_definition.h"

namespace partita {
namespace {

// From bf16 to f32.
bool Widens(const LocalLaunch& launch) {
  const auto* const kernel = std::get_if<LocalKernel>(&launch.work);
  return kernel != nullptr && kernel->node.op->role == Role::kCast && kernel->node.inputs[0]->dtype == DType::kBF16 &&
         kernel->node.outputs[0].dtype == DType::kF32;
}

// The operand of an update that may be bf16; null: the launch has none.
Operand* NarrowOperand(LocalLaunch& launch) {
  auto* const kernel = std::get_if<LocalKernel>(&launch.work);
  const int input = kernel == nullptr ? -1 : kernel->node.op->takes_bf16;
  return input < 0 ? nullptr : &kernel->inputs[static_cast<size_t>(input)];
}

class Folding {
 public:
  explicit Folding(LocalProgram& program)
      : program_(program),
        cast_of_(program.tensors.size(), -1),
        readers_(program.tensors.size(), 0),
        folded_(program.tensors.size(), false) {}

  void Run() {
    FindCasts();
    CountOtherReaders();
    for (LocalLaunch& launch : program_.launches) Fold(launch);
    DropCasts();
  }

 private:
  void FindCasts() {
    for (size_t l = 0; l < program_.launches.size(); ++l) {
      if (!Widens(program_.launches[l])) continue;
      const TensorId made = std::get<LocalKernel>(program_.launches[l].work).outputs[0].tensor;
      if (made != kNoTensor) cast_of_[made] = static_cast<int>(l);
    }
  }

  // Who touches a cast tensor besides the cast and the updates.
  void CountOtherReaders() {
    for (LocalLaunch& launch : program_.launches) {
      VisitTensors(launch, [&](TensorId tensor, bool write) { readers_[tensor] += write ? 0 : 1; });
      const Operand* const narrow = NarrowOperand(launch);
      if (narrow != nullptr && narrow->tensor != kNoTensor && narrow->offset == 0) --readers_[narrow->tensor];
    }
    for (const Result& result : program_.results) ++readers_[result.tensor];
    for (const StateUpdate& update : program_.updates) ++readers_[update.update];
    for (const PlannedTensor& tensor : program_.tensors) {
      if (tensor.inside != kNoTensor) ++readers_[tensor.inside];
    }
  }

  void Fold(LocalLaunch& launch) {
    Operand* const operand = NarrowOperand(launch);
    if (operand == nullptr || operand->tensor == kNoTensor) return;
    const TensorId made = operand->tensor;
    if (cast_of_[made] < 0 || readers_[made] > 0 || program_.tensors[made].inside != kNoTensor) return;
    folded_[made] = true;
    *operand = std::get<LocalKernel>(program_.launches[static_cast<size_t>(cast_of_[made])].work).inputs[0];
    LocalNode& node = std::get<LocalKernel>(launch.work).node;
    node.inputs[static_cast<size_t>(node.op->takes_bf16)]->dtype = DType::kBF16;
  }

  void DropCasts() {
    std::erase_if(program_.launches, [&](const LocalLaunch& launch) {
      return Widens(launch) && folded_[std::get<LocalKernel>(launch.work).outputs[0].tensor];
    });
    for (TensorId& tensor : program_.tensor_of) {
      if (tensor != kNoTensor && folded_[tensor]) tensor = kNoTensor;
    }
  }

  LocalProgram& program_;
  std::vector<int> cast_of_;  // by tensor: the launch that casts a bf16 tensor to it; -1: none
  std::vector<int> readers_;  // by tensor: others than updates that take bf16
  std::vector<bool> folded_;  // by tensor: the updates read what it was cast from
};

}  // namespace

void FoldUpdateCasts(LocalProgram& program) { Folding(program).Run(); }

}  // namespace partita
