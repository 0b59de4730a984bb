// Converts cluster descriptions from and to protos.
#ifndef PARTITA_PARTITIONER_PROTO_IO_CLUSTER_PROTO_H_
#define PARTITA_PARTITIONER_PROTO_IO_CLUSTER_PROTO_H_

#include "absl/status/statusor.h"
#include "partitioner/cluster/cluster_description.h"
#include "proto/cluster.pb.h"

namespace partita {

// Errors name the device or the domain and the field.
absl::StatusOr<ClusterDescription> DescriptionOf(const ClusterProto& proto);

ClusterProto ProtoOf(const ClusterDescription& description);

}  // namespace partita

#endif  // PARTITA_PARTITIONER_PROTO_IO_CLUSTER_PROTO_H_
