// A hash that identifies a graph.
#ifndef PARTITA_TOOLS_COMMANDS_INPUT_GRAPH_HASH_H_
#define PARTITA_TOOLS_COMMANDS_INPUT_GRAPH_HASH_H_

#include <string>

#include "absl/status/statusor.h"
#include "graph/ir/model.h"
#include "proto/run.pb.h"

namespace partita {

// XXH3-128 in hexadecimal of the content of a graph file, including optimizer and learning rate, independent of its
// format; for a model as ReadModel returns it, before a run sets the length of its schedule.
std::string GraphHash(const Model& model);

// What a run that repeats the report of --config warns of: the graph is another one than the report's, both with the
// report's flags. Empty: it is the same, or --config is no report.
absl::StatusOr<std::string> ChangeOfReportedGraph(const RunSpec& spec);

}  // namespace partita

#endif  // PARTITA_TOOLS_COMMANDS_INPUT_GRAPH_HASH_H_
