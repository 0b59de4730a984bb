#include "graph/lower/join_norms.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "graph/ir/op_definition.h"
#include "graph/lower/tensor_uses.h"
#include "runtime/base/status.h"

namespace partita {
namespace {

// The launch's kernel, if its op is in this role.
LocalKernel* KernelIn(Role role, LocalLaunch& launch) {
  auto* const kernel = std::get_if<LocalKernel>(&launch.work);
  return kernel != nullptr && kernel->node.op->role == role ? kernel : nullptr;
}

class Joining {
 public:
  explicit Joining(LocalProgram& program)
      : program_(program), uses_(program), written_(program.tensors.size(), -1), joined_(program.launches.size()) {}

  void Run() {
    for (size_t l = 0; l < program_.launches.size(); ++l) {
      if (KernelIn(Role::kAdd, program_.launches[l]) != nullptr) Join(static_cast<int>(l));
      VisitTensors(program_.launches[l], [&](TensorId tensor, bool write) {
        if (write) written_[WholeOf(tensor)] = static_cast<int>(l);
      });
    }
    for (TensorId& tensor : program_.tensor_of) {
      if (tensor != kNoTensor && IsJoined(tensor)) tensor = kNoTensor;
    }
    size_t at = 0;
    std::erase_if(program_.launches, [&](const LocalLaunch&) { return joined_[at++]; });
  }

 private:
  TensorId WholeOf(TensorId tensor) const {
    const TensorId inside = program_.tensors[tensor].inside;
    return inside < 0 ? tensor : inside;
  }

  bool IsJoined(TensorId tensor) const {
    const std::optional<int> writer = uses_.OnlyWriter(tensor);
    return writer && joined_[static_cast<size_t>(*writer)];
  }

  // The launch that makes a term of an add, if it is a sum of squares that only the add reads and whose input nothing
  // writes before the add; -1: it is not.
  int SumBehind(const Operand& term, int add) {
    if (term.tensor == kNoTensor || term.offset != 0 || !uses_.ByKernelsAlone(term.tensor)) return -1;
    const std::optional<int> sum = uses_.OnlyWriter(term.tensor);
    if (!sum) return -1;
    const LocalKernel* const kernel = KernelIn(Role::kSumOfSquares, program_.launches[static_cast<size_t>(*sum)]);
    if (kernel == nullptr) return -1;
    const bool alone = std::ranges::all_of(
        uses_.of(term.tensor), [&](const TensorUse& use) { return use.launch == *sum || use.launch == add; });
    const TensorId squared = kernel->inputs[0].tensor;
    return alone && (squared == kNoTensor || written_[WholeOf(squared)] < *sum) ? *sum : -1;
  }

  void Join(int add) {
    LocalLaunch& launch = program_.launches[static_cast<size_t>(add)];
    auto& joint = std::get<LocalKernel>(launch.work);
    std::vector<int> sums;
    for (const Operand& term : joint.inputs) {
      sums.push_back(SumBehind(term, add));
      if (sums.back() < 0) return;
    }
    LocalNode node;
    std::vector<Operand> inputs;
    for (const int sum : sums) {
      const auto& kernel = std::get<LocalKernel>(program_.launches[static_cast<size_t>(sum)].work);
      node.op = kernel.node.op;
      node.inputs.push_back(kernel.node.inputs[0]);
      inputs.push_back(kernel.inputs[0]);
      joined_[static_cast<size_t>(sum)] = true;
    }
    node.name = joint.node.name;
    node.outputs = joint.node.outputs;
    node.replicated = joint.node.replicated;
    joint.node = std::move(node);
    joint.inputs = std::move(inputs);
    joint.workspace = kNoTensor;
    launch.in_place.clear();
  }

  LocalProgram& program_;
  const TensorUses uses_;
  std::vector<int> written_;  // by tensor: the last launch so far that wrote in it
  std::vector<bool> joined_;  // by launch: it is a part of a later one
};

}  // namespace

absl::Status JoinNorms(LocalProgram& program, const KernelCatalogue& kernels) {
  Joining(program).Run();
  for (LocalLaunch& launch : program.launches) {
    LocalKernel* const sum = KernelIn(Role::kSumOfSquares, launch);
    if (sum == nullptr) continue;
    ASSIGN_OR_RETURN(sum->choice, kernels.Choose(sum->node));
    sum->workspace = program.AddWorkspace(sum->choice, launch.name);
  }
  return absl::OkStatus();
}

}  // namespace partita
