// Attributes of nodes and optimizers, as messages have them.
#ifndef PARTITA_GRAPH_PROTO_IO_PROTO_IO_ATTRIBUTES_H_
#define PARTITA_GRAPH_PROTO_IO_PROTO_IO_ATTRIBUTES_H_

#include "absl/status/statusor.h"
#include "graph/value/attributes.h"
#include "proto/graph.pb.h"

namespace partita {

using AttributeProtos = google::protobuf::RepeatedPtrField<AttributeProto>;

// kInvalidArgument: a name twice or that is none, no value, one that is not finite, too long or not printable.
absl::StatusOr<Attributes> ReadAttributes(const AttributeProtos& protos);

void WriteAttributes(const Attributes& attributes, AttributeProtos& protos);

}  // namespace partita

#endif  // PARTITA_GRAPH_PROTO_IO_PROTO_IO_ATTRIBUTES_H_
