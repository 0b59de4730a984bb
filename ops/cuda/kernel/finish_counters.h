// Counters that identify the last block of a launch (ops/cuda/loops/column_sums.h). Every device has kFinishCounters of
// them. A kernel owns a range of them while it is bound, because its launches may run concurrently with those of any
// other kernel.
#ifndef PARTITA_OPS_CUDA_KERNEL_FINISH_COUNTERS_H_
#define PARTITA_OPS_CUDA_KERNEL_FINISH_COUNTERS_H_

#include <cstdint>
#include <memory>

#include "absl/status/statusor.h"

namespace partita {

// Of this process; safe to use from several threads.
class FinishCounters {
 public:
  // kResourceExhausted: no range of `count` is free.
  static absl::StatusOr<std::shared_ptr<const FinishCounters>> Reserve(int64_t count);

  ~FinishCounters();
  FinishCounters(const FinishCounters&) = delete;
  FinishCounters& operator=(const FinishCounters&) = delete;

  int64_t first() const { return first_; }

 private:
  explicit FinishCounters(int64_t first) : first_(first) {}

  const int64_t first_;
};

}  // namespace partita

#endif  // PARTITA_OPS_CUDA_KERNEL_FINISH_COUNTERS_H_
