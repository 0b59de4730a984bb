#include "partitioner/proto_io/cluster_io.h"

#include <utility>

#include "partitioner/cluster/cluster_description.h"
#include "partitioner/proto_io/cluster_proto.h"
#include "proto/cluster.pb.h"
#include "runtime/base/status.h"

namespace partita {
namespace {

absl::StatusOr<Cluster> ReadCluster(const ClusterProto& proto) {
  ASSIGN_OR_RETURN(const ClusterDescription description, DescriptionOf(proto));
  return MakeCluster(description);
}

}  // namespace

absl::StatusOr<Cluster> ParseCluster(const std::string& bytes, ProtoFormat format, const std::string& source) {
  ClusterProto proto;
  RETURN_IF_ERROR(ParseMessage(bytes, format, source, proto));
  absl::StatusOr<Cluster> cluster = ReadCluster(proto);
  return cluster.ok() ? std::move(cluster) : WithContext(source, cluster.status());
}

absl::StatusOr<Cluster> LoadCluster(const std::string& path) {
  ASSIGN_OR_RETURN(const ProtoFile file, ReadProtoFile(path));
  return ParseCluster(file.bytes, file.format, path);
}

}  // namespace partita
