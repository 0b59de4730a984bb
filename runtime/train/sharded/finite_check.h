// Whether what is to be saved is finite: training ends where a loss is not, but the update after the last loss has none
// to show what it did.
#ifndef PARTITA_RUNTIME_TRAIN_SHARDED_FINITE_CHECK_H_
#define PARTITA_RUNTIME_TRAIN_SHARDED_FINITE_CHECK_H_

#include <cstddef>
#include <span>
#include <string>

#include "absl/status/status.h"
#include "graph/ir/kernel_catalogue.h"

namespace partita {

class FiniteCheck {
 public:
  // A state, or a part of it: `bytes` are those of the tensor's box.
  void Look(const std::string& name, const LocalTensor& tensor, std::span<const std::byte> bytes);

  // kOutOfRange: the first value that is not finite, and how many tensors have such; `path` is not written.
  absl::Status Result(const std::string& path) const;

 private:
  std::string first_;
  int broken_ = 0, looked_at_ = 0;
};

}  // namespace partita

#endif  // PARTITA_RUNTIME_TRAIN_SHARDED_FINITE_CHECK_H_
