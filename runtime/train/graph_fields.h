// The fields that a graph reads from its data.
#ifndef PARTITA_RUNTIME_TRAIN_GRAPH_FIELDS_H_
#define PARTITA_RUNTIME_TRAIN_GRAPH_FIELDS_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "graph/ir/graph.h"
#include "runtime/data/batch_source.h"

namespace partita {

// A field for each input of a user's graph, in its order; floating ones are `floating`, as a program has them. An input
// that an op reads as labels says how many classes that op tells apart, one whose values choose rows of a table how
// many rows that has, one of lengths how many places the sequences have; of several such ops the fewest. What a loss is
// weighed by weighs; by whose sum something is divided divides, and so do labels of which a mean ignores one.
std::vector<WantedField> WantedFields(const Graph& forward, DType floating);

// Rows of a batch: the first size of every input. kInvalidArgument names an input that has another, or says that the
// graph has none.
absl::StatusOr<int64_t> BatchRows(const Graph& forward);

}  // namespace partita

#endif  // PARTITA_RUNTIME_TRAIN_GRAPH_FIELDS_H_
