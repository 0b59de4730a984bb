// The states of a model for `convert`, from wherever a run keeps them.
#ifndef PARTITA_TOOLS_COMMANDS_CONVERT_SAVED_STATES_H_
#define PARTITA_TOOLS_COMMANDS_CONVERT_SAVED_STATES_H_

#include <string>

#include "absl/status/statusor.h"
#include "exporter/onnx/emitter.h"
#include "runtime/checkpoint/safetensors.h"

namespace partita {

// Reads a state of `file`; with `averages` the moving average of it, where there is one. kInvalidArgument: the file has
// no such state, or one of another shape or type.
onnx_export::ReadState StatesOf(SafetensorsFile file, bool averages);

// Reads them from a file that `train --save` wrote, from a checkpoint, or from the newest one in a folder.
absl::StatusOr<onnx_export::ReadState> OpenStates(const std::string& path, bool averages);

}  // namespace partita

#endif  // PARTITA_TOOLS_COMMANDS_CONVERT_SAVED_STATES_H_
