// The value of a graph that a command writes or exports.
#ifndef PARTITA_TOOLS_COMMANDS_PREDICTIONS_PREDICTED_VALUE_H_
#define PARTITA_TOOLS_COMMANDS_PREDICTIONS_PREDICTED_VALUE_H_

#include <string>

#include "absl/status/statusor.h"
#include "graph/ir/graph.h"
#include "proto/run.pb.h"

namespace partita {

// --value, or what the graph predicts. FlagError: nothing says which value that is.
absl::StatusOr<std::string> PredictedValue(const RunSpec& spec, const Graph& graph);

}  // namespace partita

#endif  // PARTITA_TOOLS_COMMANDS_PREDICTIONS_PREDICTED_VALUE_H_
