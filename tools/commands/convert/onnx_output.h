// Writes the value that a model predicts as an ONNX model, for `convert --output=FILE.onnx`.
#ifndef PARTITA_TOOLS_COMMANDS_CONVERT_ONNX_OUTPUT_H_
#define PARTITA_TOOLS_COMMANDS_CONVERT_ONNX_OUTPUT_H_

#include <string>

#include "absl/status/statusor.h"
#include "exporter/onnx/emitter.h"
#include "graph/ir/model.h"
#include "proto/run.pb.h"

namespace partita {

// Of --value to --output, with the states that `read` gives. The result is one line about the file. FlagError as of
// PredictedValue; other errors name the graph, or the file of the states.
absl::StatusOr<std::string> WriteOnnx(const RunSpec& spec, const Model& model, const onnx_export::ReadState& read);

}  // namespace partita

#endif  // PARTITA_TOOLS_COMMANDS_CONVERT_ONNX_OUTPUT_H_
