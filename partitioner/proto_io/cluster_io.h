// Clusters as protos (proto/cluster.proto): files in, checked values out.
#ifndef PARTITA_PARTITIONER_PROTO_IO_CLUSTER_IO_H_
#define PARTITA_PARTITIONER_PROTO_IO_CLUSTER_IO_H_

#include <string>

#include "absl/status/statusor.h"
#include "graph/proto_io/proto_io_message.h"
#include "partitioner/cluster/cluster.h"

namespace partita {

// Errors name the file, the device or the domain and the field, with what was found and what is allowed. Thread-safe.
absl::StatusOr<Cluster> LoadCluster(const std::string& path);
absl::StatusOr<Cluster> ParseCluster(const std::string& bytes, ProtoFormat format, const std::string& source);

}  // namespace partita

#endif  // PARTITA_PARTITIONER_PROTO_IO_CLUSTER_IO_H_
