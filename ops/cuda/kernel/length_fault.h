// A sequence's length that cannot be, which a launch leaves as a LabelFault's word, in the host's words
// (ops/host/kernel/sequence_lengths.h).
#ifndef PARTITA_OPS_CUDA_KERNEL_LENGTH_FAULT_H_
#define PARTITA_OPS_CUDA_KERNEL_LENGTH_FAULT_H_

#include <cstdint>

#include "absl/status/status.h"
#include "ops/cuda/launch/label_fault.h"
#include "runtime/base/status.h"

namespace partita {

// `first_sample`: the global index of the rank's first.
inline absl::Status ExplainLength(int64_t first_sample, int64_t places, uint64_t word) {
  const launch::LabelFault fault = launch::LabelFault::Of(word);
  return InvalidArgument("sample {} of the batch has length {}, allowed are 0 to {}", first_sample + fault.row,
                         fault.label, places);
}

}  // namespace partita

#endif  // PARTITA_OPS_CUDA_KERNEL_LENGTH_FAULT_H_
