// Models and strategies as protos (proto/graph.proto, proto/strategy.proto): files in, checked values out, and back.
//
// Every malformed input gets kInvalidArgument with the file, the node or field, what was found and what is allowed;
// nothing is logged, nothing crashes. Thread-safe.
#ifndef PARTITA_GRAPH_PROTO_IO_PROTO_IO_H_
#define PARTITA_GRAPH_PROTO_IO_PROTO_IO_H_

#include <string>

#include "absl/status/statusor.h"
#include "graph/derive/strategy.h"
#include "graph/ir/model.h"
#include "graph/ir/op_definition.h"
#include "graph/proto_io/proto_io_message.h"

namespace partita {

// A model with a verified graph (graph/read/verify_model.h). `registry` must outlive it.
absl::StatusOr<Model> LoadModel(const std::string& path, const OpRegistry& registry);
absl::StatusOr<Model> ParseModel(const std::string& bytes, ProtoFormat format, const std::string& source,
                                 const OpRegistry& registry);

// Attributes that equal the op's defaults are omitted. Parsing the result gives an equal model.
std::string PrintModel(const Model& model, ProtoFormat format);
absl::Status SaveModel(const Model& model, const std::string& path);

// A strategy that is well formed in itself; CheckStrategy checks it against a graph.
absl::StatusOr<Strategy> LoadStrategy(const std::string& path);
absl::StatusOr<Strategy> ParseStrategy(const std::string& bytes, ProtoFormat format, const std::string& source);
std::string PrintStrategy(const Strategy& strategy, ProtoFormat format);
absl::Status SaveStrategy(const Strategy& strategy, const std::string& path);

}  // namespace partita

#endif  // PARTITA_GRAPH_PROTO_IO_PROTO_IO_H_
