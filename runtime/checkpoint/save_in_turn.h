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

// Saves atomically. Asks for all tensors in the file's order (SafetensorsOutline::order), each once; they are put aside
// on the disk, for a checksum stands before what it is of (runtime/base/files.h). So when the last one was handed over,
// nothing more is wanted of `bytes_of`. The `bytes` of the tensors themselves are not looked at. After an error of
// `bytes_of`, which is returned, or of the disk it asks no more.
absl::Status SaveInTurn(const std::string& path, std::span<const NamedTensor> tensors, const Metadata& metadata,
                        const TensorBytes& bytes_of);

}  // namespace partita

#endif  // PARTITA_RUNTIME_CHECKPOINT_SAVE_IN_TURN_H_
