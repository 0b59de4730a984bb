// From a model and a strategy to the program that all ranks run (docs/design.md 1.3 to 1.5).
#ifndef PARTITA_GRAPH_MAKE_PROGRAM_H_
#define PARTITA_GRAPH_MAKE_PROGRAM_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "graph/derive/strategy.h"
#include "graph/given/give_inputs.h"
#include "graph/ir/model.h"
#include "graph/ir/op_definition.h"
#include "graph/ir/program.h"
#include "graph/moves/move_bytes.h"
#include "graph/schedule/machine_speed.h"

namespace partita {

struct ProgramOptions {
  DType floating = DType::kF32;  // the type of all floating values
  bool mix_precision = false;    // f32 only: compute in bf16 on f32 weights (graph/passes/mix_precision.h)
  bool fuse = true;              // passes that join nodes for speed; off where tests look at single values
  bool for_gpu = false;          // also those by which kernels of a GPU alone gain (Fusion::for_gpu)
  int64_t bucket_bytes = -1;     // over the strategy's; -1: as the strategy says
  // By which buckets and exchanges are chosen; unset: gradients travel in eight buckets, and exchanges are direct.
  std::optional<MachineSpeed> speed = {};
  // Values of the forward graph, by name: with any, the program has an entry point `predict` that computes them as
  // evaluation does, and has the inputs that they need. One for each size of the graph.
  std::vector<std::string> predictions = {};
  // Scalars of the forward graph, by name, that evaluation reports behind its losses and metrics
  // (graph/sets/find_set_results.h).
  std::vector<std::string> evaluated = {};
  GivenForms given = {};  // inputs whose fields hold something else than what the graph reads, such as bytes
  bool entries = true;    // those that the model names; without them, what it does in its graph's own sizes
  // For ranks that live in several processes: every step counts which of them want to stop
  // (graph/derive/count_votes.h).
  bool count_votes = false;
  bool verify_passes = false;  // check the graph after each pass (graph/passes/run_passes.h); tests always do
};

// `train`, `evaluate` and `predict`, of each other size of the model the same under its name (graph/ir/entry_point.h),
// and its entries with results under theirs. Pure and linear in the graph. Errors name the node or the strategy's
// entry, and the model's entry.
absl::StatusOr<Program> MakeProgram(const Model& model, const Strategy& strategy, const OpRegistry& registry,
                                    const ProgramOptions& options = {});

// The program with these entry points alone (CHECKed), the states that the first one has and the groups that they need.
Program OnlyEntries(Program program, const std::vector<std::string>& entries);

// Adds the groups that `graph` needs and the program has not yet: in the order in which it first uses them, all groups
// of one set of axes together. A reshard that moves nothing needs none.
void CollectGroups(const Graph& graph, Program& program);

// Bytes that one step of `entry` moves in each group of the program, by the layouts.
std::vector<MoveBytes> PredictBytes(const Program& program, const Graph& entry);

}  // namespace partita

#endif  // PARTITA_GRAPH_MAKE_PROGRAM_H_
