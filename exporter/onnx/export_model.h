// A value of a graph as an ONNX model: what predict computes, for any batch where the graph allows that.
#ifndef PARTITA_EXPORTER_ONNX_EXPORT_MODEL_H_
#define PARTITA_EXPORTER_ONNX_EXPORT_MODEL_H_

#include <string>

#include "absl/status/statusor.h"
#include "exporter/onnx/emitter.h"
#include "exporter/onnx/schema.h"
#include "graph/ir/model.h"
#include "graph/ir/op_definition.h"

namespace partita::onnx_export {

struct ExportOptions {
  std::string value;             // of the graph
  std::string producer_version;  // of the program
  ReadState read;                // called while the model is written
};

struct ExportedModel {
  WrittenModel model;     // for WriteOnnxModel
  bool any_batch = true;  // false: inputs have the batch of the graph
};

// In the form of inference: batch norms by their running statistics, nothing dropped. kInvalidArgument: there is no
// such value, or nodes that it needs have no form in ONNX, each of which is named.
absl::StatusOr<ExportedModel> ExportOnnx(const partita::Model& model, const OpRegistry& registry,
                                         const ExportOptions& options);

}  // namespace partita::onnx_export

#endif  // PARTITA_EXPORTER_ONNX_EXPORT_MODEL_H_
