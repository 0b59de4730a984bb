// One entry point of a program as one rank's launches, still without addresses, streams and waits.
#ifndef PARTITA_GRAPH_LOWER_LOWER_GRAPH_H_
#define PARTITA_GRAPH_LOWER_LOWER_GRAPH_H_

#include "absl/status/statusor.h"
#include "graph/schedule/local_program.h"
#include "graph/schedule/localize.h"

namespace partita {

struct LoweringOptions {
  bool exchange_boxes = false;  // ScheduleOptions
  bool round_states = false;    // states that layers read in bf16 are kept so, too (graph/lower/rounded_states.h)
};

// Computing nodes become kernel launches, moves what graph/lower/moves/lower_moves.h says; `input`, `parameter` and
// `state` nodes are memory, views are nothing. `entry` is the graph of an entry point of the program (or one over the
// same states). Errors: kInternal where program and entry contradict each other; what the catalogue returns for a node
// without kernel.
absl::StatusOr<LocalProgram> LowerGraph(const Program& program, const Graph& entry, int rank, const LocalGraph& local,
                                        const KernelCatalogue& kernels, const LoweringOptions& options);

}  // namespace partita

#endif  // PARTITA_GRAPH_LOWER_LOWER_GRAPH_H_
