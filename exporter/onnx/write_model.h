// Writes an ONNX model, one protobuf message.
#ifndef PARTITA_EXPORTER_ONNX_WRITE_MODEL_H_
#define PARTITA_EXPORTER_ONNX_WRITE_MODEL_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "exporter/onnx/schema.h"

namespace partita::onnx_export {

inline constexpr int64_t kWrittenOpset = 18;

// Atomically (runtime/base/files.h); holds the elements of one initializer at a time. kInvalidArgument, before any is
// read: the file would be larger than protobuf allows a message to be. Other errors are those of the initializers.
absl::Status WriteOnnxModel(const WrittenModel& model, const std::string& path);

}  // namespace partita::onnx_export

#endif  // PARTITA_EXPORTER_ONNX_WRITE_MODEL_H_
