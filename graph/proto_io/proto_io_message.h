// Reads and writes any message of proto/: as text, as binary, and (written only) as JSON.
//
// Thread-safe, but while a message is parsed protobuf's own log is silent in the whole process.
#ifndef PARTITA_GRAPH_PROTO_IO_PROTO_IO_MESSAGE_H_
#define PARTITA_GRAPH_PROTO_IO_PROTO_IO_MESSAGE_H_

#include <google/protobuf/message.h>

#include <string>

#include "absl/status/statusor.h"

namespace partita {

enum class ProtoFormat { kText, kBinary, kJson };

inline constexpr int64_t kLargestProtoFile = int64_t{64} << 20;  // bytes

// By extension: .pbtxt, .textproto: text; .pb: binary; .json: JSON. kInvalidArgument for others.
absl::StatusOr<ProtoFormat> FormatOf(const std::string& path);

// Fills `message`. Refused: what is not that format, unknown fields (also in binary, so that a file of another type is
// not taken for an empty one), nesting deeper than 64, more fields than graph/value/limits.h allows, another
// `schema_version` than 1. Errors begin with `source`, and in text with line and column.
absl::Status ParseMessage(const std::string& bytes, ProtoFormat format, const std::string& source,
                          google::protobuf::Message& message);

// Deterministic: equal messages, equal bytes. Text has a line for each field of the root, so it cannot be had of a root
// with maps (the report). JSON: print_json.h.
std::string PrintMessage(const google::protobuf::Message& message, ProtoFormat format);

// A file of at most kLargestProtoFile bytes; the extension says the format. kInvalidArgument: also text whose last line
// does not end, for then it was cut short. (One that was cut between two lines is a shorter text: of a graph some field
// is missing then, of a strategy there may be entries less.)
struct ProtoFile {
  std::string bytes;
  ProtoFormat format = ProtoFormat::kText;
};
absl::StatusOr<ProtoFile> ReadProtoFile(const std::string& path);

// Files as ReadProtoFile takes them.
absl::Status LoadMessage(const std::string& path, google::protobuf::Message& message);
absl::Status SaveMessage(const google::protobuf::Message& message, const std::string& path);

}  // namespace partita

#endif  // PARTITA_GRAPH_PROTO_IO_PROTO_IO_MESSAGE_H_
