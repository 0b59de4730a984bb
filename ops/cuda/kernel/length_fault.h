// A sequence's length that cannot be, which a launch leaves as a LabelFault's word, in the host's words
// (ops/host/kernel/sequence_lengths.h).
#ifndef PARTITA_OPS_CUDA_KERNEL_LENGTH_FAULT_H_
#define PARTITA_OPS_CUDA_KERNEL_LENGTH_FAULT_H_

#include <cstdint>

#include "absl/status/status.h"
#include "ops/cuda/launch/label_fault.h"
#include "ops/values/index_places.h"

namespace partita {

// `lengths`: where they stand in the batch. `places`: of each sequence.
inline absl::Status ExplainLength(const IndexPlaces& lengths, int64_t places, uint64_t word) {
  const launch::LabelFault fault = launch::LabelFault::Of(word);
  return lengths.Refused("length", fault.row, fault.label, places);
}

}  // namespace partita

#endif  // PARTITA_OPS_CUDA_KERNEL_LENGTH_FAULT_H_
