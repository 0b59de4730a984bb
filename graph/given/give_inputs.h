// Gives inputs in another form than the graph reads them in: a node makes of what is given what is read.
//
//   before   %x = input() f32[64,28,28,1]
//   after    %x@given = input() field=x u8[64,28,28,1]
//            %x = pixels(%x@given) mean=0.3 deviation=0.4 f32[64,28,28,1]
//
// Of the partitioned graph: what is given lies as what is read did, so no strategy knows of it and no move is added.
#ifndef PARTITA_GRAPH_GIVEN_GIVE_INPUTS_H_
#define PARTITA_GRAPH_GIVEN_GIVE_INPUTS_H_

#include <map>
#include <string>

#include "absl/status/statusor.h"
#include "graph/ir/graph.h"
#include "graph/ir/op_definition.h"
#include "graph/value/attributes.h"
#include "graph/value/dtype.h"

namespace partita {

// Of `op`, which keeps the shape, all attributes but `dtype`, which is the input's own.
struct GivenForm {
  DType dtype = DType::kU8;
  std::string op;
  Attributes attributes;
};
using GivenForms = std::map<std::string, GivenForm>;  // by the field that fills the input

// Fields that the graph has not are passed over. kInvalidArgument: what the op refuses.
absl::StatusOr<Graph> GiveInputs(const Graph& graph, const GivenForms& forms, const OpRegistry& registry);

}  // namespace partita

#endif  // PARTITA_GRAPH_GIVEN_GIVE_INPUTS_H_
