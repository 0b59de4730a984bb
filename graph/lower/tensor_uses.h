// Which launches of a rank read and write each tensor.
#ifndef PARTITA_GRAPH_LOWER_TENSOR_USES_H_
#define PARTITA_GRAPH_LOWER_TENSOR_USES_H_

#include <cstddef>
#include <optional>
#include <vector>

#include "graph/schedule/local_program.h"

namespace partita {

// A kernel reads or writes it: at this place among its inputs and, behind them, its outputs.
struct TensorUse {
  int launch = 0;
  size_t operand = 0;
};

// Of the tensors and launches that there were when it was made.
class TensorUses {
 public:
  explicit TensorUses(const LocalProgram& program);

  const std::vector<TensorUse>& of(TensorId tensor) const { return tensors_[tensor].uses; }
  // False if anything else touches it too: a move, the host, an update of a state.
  bool ByKernelsAlone(TensorId tensor) const { return !tensors_[tensor].otherwise && !tensors_[tensor].shares_bytes; }
  // Whether it is a part of another tensor, or others are parts of it.
  bool shares_bytes(TensorId tensor) const { return tensors_[tensor].shares_bytes; }
  int last_write(TensorId tensor) const { return tensors_[tensor].last_write; }  // launch; -1: none
  std::optional<int> OnlyWriter(TensorId tensor) const;

  // Removes a launch; no launch writes its outputs any more.
  void Drop(int launch, const LocalLaunch& work);
  bool dropped(int launch) const { return dropped_[launch]; }
  // Makes the launches that touch `from` touch `to` instead.
  void Move(TensorId from, TensorId to);

 private:
  struct Tensor {
    std::vector<TensorUse> uses;
    bool otherwise = false;
    bool shares_bytes = false;
    int writes = 0;
    int last_write = -1;
  };

  void Add(int launch, const LocalLaunch& work);

  std::vector<Tensor> tensors_;
  std::vector<bool> dropped_;
};

}  // namespace partita

#endif  // PARTITA_GRAPH_LOWER_TENSOR_USES_H_
