// The length of each sequence: an input i32[n] that may be absent, which means full length.
#ifndef PARTITA_OPS_HOST_KERNEL_SEQUENCE_LENGTHS_H_
#define PARTITA_OPS_HOST_KERNEL_SEQUENCE_LENGTHS_H_

#include <cstdint>

#include "ops/host/kernel/host_kernel.h"
#include "ops/values/index_places.h"

namespace partita {

struct SequenceLengths {
  SequenceLengths(const LocalNode& node, size_t lengths, int64_t all_places)
      : input(lengths), places(all_places), in_batch(node, lengths) {
    if (HasInput(node, input)) samples = InputShape(node, input)[0];
  }

  int64_t Of(const KernelArguments& arguments, int64_t sample) const {
    const auto* const lengths = In<int32_t>(arguments, input);
    return lengths == nullptr ? places : lengths[sample];
  }

  // kInvalidArgument: one that is negative or longer than the sequences have places.
  absl::Status Check(const KernelArguments& arguments) const {
    for (int64_t i = 0; i < samples; ++i) {
      const int64_t length = Of(arguments, i);
      if (length < 0 || length > places) {
        return in_batch.Refused("length", i, length, places);
      }
    }
    return absl::OkStatus();
  }

  size_t input;
  int64_t places;
  int64_t samples = 0;
  IndexPlaces in_batch;  // of the lengths
};

// A loop along sequences: it checks their lengths, then calls Run with a workspace of workspace_bytes().
template <typename Loop>
absl::StatusOr<PreparedKernel> PreparedLoop(const SequenceLengths& lengths, const Loop& loop) {
  const auto compute = [lengths, loop](const KernelArguments& a) -> absl::Status {
    RETURN_IF_ERROR(lengths.Check(a));
    loop.Run(a);
    return absl::OkStatus();
  };
  return Prepared(compute, loop.workspace_bytes());
}

}  // namespace partita

#endif  // PARTITA_OPS_HOST_KERNEL_SEQUENCE_LENGTHS_H_
