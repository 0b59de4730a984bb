#include "graph/lower/tensor_uses.h"

#include <algorithm>
#include <utility>

namespace partita {

TensorUses::TensorUses(const LocalProgram& program)
    : tensors_(program.tensors.size()), dropped_(program.launches.size(), false) {
  for (size_t t = 0; t < tensors_.size(); ++t) {
    const TensorId inside = program.tensors[t].inside;
    if (inside != kNoTensor) tensors_[t].shares_bytes = tensors_[inside].shares_bytes = true;
  }
  for (const Result& result : program.results) tensors_[result.tensor].otherwise = true;
  for (const StateUpdate& update : program.updates) {
    tensors_[update.state].otherwise = tensors_[update.update].otherwise = true;
  }
  for (size_t l = 0; l < program.launches.size(); ++l) Add(static_cast<int>(l), program.launches[l]);
}

void TensorUses::Add(int launch, const LocalLaunch& work) {
  const auto* const kernel = std::get_if<LocalKernel>(&work.work);
  VisitTensors(work, [&](TensorId tensor, bool write) {
    tensors_[tensor].otherwise = tensors_[tensor].otherwise || kernel == nullptr;
    if (!write) return;
    ++tensors_[tensor].writes;
    tensors_[tensor].last_write = launch;
  });
  if (kernel == nullptr) return;
  const auto add = [&](const Operand& operand, size_t place) {
    if (operand.tensor != kNoTensor) tensors_[operand.tensor].uses.push_back({launch, place});
  };
  for (size_t i = 0; i < kernel->inputs.size(); ++i) add(kernel->inputs[i], i);
  for (size_t o = 0; o < kernel->outputs.size(); ++o) add(kernel->outputs[o], kernel->inputs.size() + o);
}

std::optional<int> TensorUses::OnlyWriter(TensorId tensor) const {
  return tensors_[tensor].writes == 1 ? std::optional(tensors_[tensor].last_write) : std::nullopt;
}

void TensorUses::Drop(int launch, const LocalLaunch& work) {
  dropped_[launch] = true;
  VisitTensors(work, [&](TensorId tensor, bool write) {
    std::erase_if(tensors_[tensor].uses, [&](const TensorUse& use) { return use.launch == launch; });
    if (write) tensors_[tensor].writes = 0;
    if (write) tensors_[tensor].last_write = -1;
  });
}

void TensorUses::Move(TensorId from, TensorId to) {
  Tensor moved = std::exchange(tensors_[from], {});
  Tensor& target = tensors_[to];
  target.uses.insert(target.uses.end(), moved.uses.begin(), moved.uses.end());
  target.writes += moved.writes;
  target.last_write = std::max(target.last_write, moved.last_write);
}

}  // namespace partita
