// A safetensors file of tensors that are not to be held all at once.
#ifndef PARTITA_RUNTIME_CHECKPOINT_SAVE_IN_TURN_H_
#define PARTITA_RUNTIME_CHECKPOINT_SAVE_IN_TURN_H_

#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/checkpoint/safetensors.h"

namespace partita {

// The bytes of a tensor by its place in the list; they need to be there until the next one is asked for.
using TensorBytes = std::function<absl::StatusOr<std::string_view>(size_t tensor)>;

// Saves atomically. Asks for all tensors in the file's order (SafetensorsOutline::order), each once. It spools them to
// disk, because a checksum precedes its data (runtime/base/files.h), so `bytes_of` is not called after the last tensor.
// The `bytes` of the tensors themselves are ignored. After an error of `bytes_of`, which is returned, or of the disk,
// it asks for no further tensor.
absl::Status SaveInTurn(const std::string& path, std::span<const NamedTensor> tensors, const Metadata& metadata,
                        const TensorBytes& bytes_of);

}  // namespace partita

#endif  // PARTITA_RUNTIME_CHECKPOINT_SAVE_IN_TURN_H_
