// A model's optimizer, as its message has it.
#ifndef PARTITA_GRAPH_PROTO_IO_PROTO_IO_OPTIMIZER_H_
#define PARTITA_GRAPH_PROTO_IO_PROTO_IO_OPTIMIZER_H_

#include "absl/status/statusor.h"
#include "graph/ir/op_definition.h"
#include "graph/optimizer/optimizer.h"
#include "proto/graph.pb.h"

namespace partita {

// Complete. kInvalidArgument names the field.
absl::StatusOr<Optimizer> ReadOptimizer(const OptimizerProto& proto, const OpRegistry& registry);

void WriteOptimizer(const Optimizer& optimizer, OptimizerProto& proto);

}  // namespace partita

#endif  // PARTITA_GRAPH_PROTO_IO_PROTO_IO_OPTIMIZER_H_
