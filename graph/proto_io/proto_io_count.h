// Estimates the memory of a message from its file, before it is parsed.
#ifndef PARTITA_GRAPH_PROTO_IO_PROTO_IO_COUNT_H_
#define PARTITA_GRAPH_PROTO_IO_PROTO_IO_COUNT_H_

#include <google/protobuf/descriptor.h>

#include <string>

#include "absl/status/status.h"
#include "graph/proto_io/proto_io_message.h"

namespace partita {

// kInvalidArgument: the file has more than kMostFields fields and elements of lists (graph/value/limits.h). An empty
// message takes two bytes of a binary file and more than a hundred of memory. Counts too many rather than too few; what
// is malformed is left to the parser.
absl::Status CheckFieldCount(const std::string& bytes, ProtoFormat format, const std::string& source,
                             const google::protobuf::Descriptor& type);

}  // namespace partita

#endif  // PARTITA_GRAPH_PROTO_IO_PROTO_IO_COUNT_H_
