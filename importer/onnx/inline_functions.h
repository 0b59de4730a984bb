// Replaces nodes that call functions of the model by the nodes of these functions.
#ifndef PARTITA_IMPORTER_ONNX_INLINE_FUNCTIONS_H_
#define PARTITA_IMPORTER_ONNX_INLINE_FUNCTIONS_H_

#include "absl/status/status.h"
#include "importer/onnx/model.h"

namespace partita::onnx {

// Values of a function get names of their own for each call; its attributes are those of the call, or their defaults.
// kInvalidArgument: a function calls itself, or takes another number of values than a node gives it, or there would be
// more nodes than a model may have.
absl::Status InlineFunctions(OnnxModel& model);

}  // namespace partita::onnx

#endif  // PARTITA_IMPORTER_ONNX_INLINE_FUNCTIONS_H_
