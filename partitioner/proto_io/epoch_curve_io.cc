#include "partitioner/proto_io/epoch_curve_io.h"

#include "proto/epochs.pb.h"
#include "runtime/base/status.h"

namespace partita {

absl::StatusOr<EpochCurve> ParseEpochCurve(const std::string& bytes, ProtoFormat format, const std::string& source) {
  EpochCurveProto proto;
  RETURN_IF_ERROR(ParseMessage(bytes, format, source, proto));
  EpochCurve curve;
  curve.name = proto.name();
  curve.source = proto.source();
  curve.samples = proto.samples();
  for (const EpochPointProto& point : proto.points()) curve.points.push_back({point.batch(), point.epochs()});
  RETURN_IF_ERROR(WithContext(source, CheckCurve(curve)));
  return curve;
}

absl::StatusOr<EpochCurve> LoadEpochCurve(const std::string& path) {
  ASSIGN_OR_RETURN(const ProtoFile file, ReadProtoFile(path));
  return ParseEpochCurve(file.bytes, file.format, path);
}

std::string PrintEpochCurve(const EpochCurve& curve, ProtoFormat format) {
  EpochCurveProto proto;
  proto.set_schema_version(1);
  proto.set_name(curve.name);
  proto.set_source(curve.source);
  for (const EpochPoint& point : curve.points) {
    EpochPointProto* const added = proto.add_points();
    added->set_batch(point.batch);
    added->set_epochs(point.epochs);
  }
  if (curve.samples > 0) proto.set_samples(curve.samples);
  return PrintMessage(proto, format);
}

}  // namespace partita
