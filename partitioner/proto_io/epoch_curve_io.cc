#include "partitioner/proto_io/epoch_curve_io.h"

#include "proto/epochs.pb.h"
#include "runtime/base/status.h"

namespace partita {

absl::StatusOr<EpochCurve> ParseEpochCurve(const std::string& bytes, ProtoFormat format, const std::string& source) {
  EpochCurveProto proto;
  RETURN_IF_ERROR(ParseMessage(bytes, format, source, proto));
  EpochCurve curve;
  curve.name = proto.name();
  for (const EpochPointProto& point : proto.points()) curve.points.push_back({point.batch(), point.epochs()});
  RETURN_IF_ERROR(WithContext(source, CheckCurve(curve)));
  return curve;
}

absl::StatusOr<EpochCurve> LoadEpochCurve(const std::string& path) {
  ASSIGN_OR_RETURN(const ProtoFile file, ReadProtoFile(path));
  return ParseEpochCurve(file.bytes, file.format, path);
}

}  // namespace partita
