// The largest value that ranks gather although the nodes that read it could read it in parts, and how to write that.
#ifndef PARTITA_PARTITIONER_EXPLAIN_AVOIDABLE_GATHER_H_
#define PARTITA_PARTITIONER_EXPLAIN_AVOIDABLE_GATHER_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "graph/derive/strategy.h"
#include "graph/ir/op_definition.h"
#include "graph/ir/program.h"

namespace partita {

// Names of values and nodes; "block*/gelu" stands for those of all blocks.
struct AvoidableGather {
  std::string value;
  std::vector<std::string> readers;
  std::vector<OpConfig> entries;  // of a strategy: by each reader, over the one axis on which the value is split
  int64_t wire_bytes = 0;         // of gathering these values in a step
  int64_t saved_bytes = 0;        // on the wires of a step, all moves together, if the entries stand before all others

  // The strategy with the entries before all others.
  Strategy Applied(const Strategy& strategy) const;
};

// Of values whose gathers take at least a tenth of a training step's bytes on the wires and a megabyte. `compile` makes
// the program of another strategy as `program` was made of `strategy`; what it refuses is not proposed, nor what moves
// as many bytes. nullopt: there is none. Errors are those of PrepareTraining.
absl::StatusOr<std::optional<AvoidableGather>> FindAvoidableGather(
    const Graph& forward, const Strategy& strategy, const Program& program, const OpRegistry& registry,
    const std::function<absl::StatusOr<Program>(const Strategy&)>& compile);

}  // namespace partita

#endif  // PARTITA_PARTITIONER_EXPLAIN_AVOIDABLE_GATHER_H_
