// Curves of epochs by batch as protos (proto/epochs.proto): files in, checked values out, and back.
#ifndef PARTITA_PARTITIONER_PROTO_IO_EPOCH_CURVE_IO_H_
#define PARTITA_PARTITIONER_PROTO_IO_EPOCH_CURVE_IO_H_

#include <string>

#include "absl/status/statusor.h"
#include "graph/proto_io/proto_io_message.h"
#include "partitioner/cost/time_to_accuracy.h"

namespace partita {

// Errors name the file and the point, with what was found and what is allowed. Thread-safe.
absl::StatusOr<EpochCurve> LoadEpochCurve(const std::string& path);
absl::StatusOr<EpochCurve> ParseEpochCurve(const std::string& bytes, ProtoFormat format, const std::string& source);

// Equal curves, equal bytes.
std::string PrintEpochCurve(const EpochCurve& curve, ProtoFormat format);

}  // namespace partita

#endif  // PARTITA_PARTITIONER_PROTO_IO_EPOCH_CURVE_IO_H_
