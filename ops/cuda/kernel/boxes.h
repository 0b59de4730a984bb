// Boxes of tensors as the copy launches take them.
#ifndef PARTITA_OPS_CUDA_KERNEL_BOXES_H_
#define PARTITA_OPS_CUDA_KERNEL_BOXES_H_

#include "absl/status/status.h"
#include "graph/schedule/schedule.h"
#include "ops/cuda/launch/copies.h"

namespace partita {

// kInvalidArgument: more dimensions than a launch describes.
absl::Status CheckBox(const BoxCopy& copy);

// Of a box that CheckBox takes. The offsets of `copy` count from `from` and `to`.
launch::StridedBox MakeStridedBox(const BoxCopy& copy, const void* from, void* to);

}  // namespace partita

#endif  // PARTITA_OPS_CUDA_KERNEL_BOXES_H_
