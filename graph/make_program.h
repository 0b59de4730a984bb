// From a model and a strategy to the program that all ranks run (docs/design.md 1.3 to 1.5).
#ifndef PARTITA_GRAPH_MAKE_PROGRAM_H_
#define PARTITA_GRAPH_MAKE_PROGRAM_H_

#include <functional>
#include <optional>
#include <set>
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
#include "graph/update/gradient_norm.h"

namespace partita {

// The name of the last result of a training step that reports the norm of all gradients: the sum of their squares.
inline constexpr char kGradientSquaresName[] = "@gradient_squares";

struct ProgramOptions {
  DType floating = DType::kF32;  // the type of all floating values
  bool mix_precision = false;    // f32 only: compute in bf16 on f32 weights (graph/passes/mix_precision.h)
  bool fuse = true;              // passes that join nodes for speed; off for tests of single values
  bool for_gpu = false;          // also those that only speed up GPU kernels (Fusion::for_gpu)
  int64_t bucket_bytes = -1;     // overrides the strategy; -1: the strategy's
  // The speed for choosing buckets and exchanges; unset: gradients travel in eight buckets, and exchanges are direct.
  std::optional<MachineSpeed> speed = {};
  // Values of the forward graph, by name. With any, the program has an entry point `predict`, for each size of the
  // graph, that computes them as evaluation does and has only the inputs that they need.
  std::vector<std::string> predictions = {};
  // Values of the graph of evaluation (graph/passes/prepare_evaluation.h), by name, that it reports after its losses
  // and metrics: scalars (graph/sets/find_set_results.h), and behind them values with a row for each sample.
  std::vector<std::string> evaluated = {};
  GradientNorm gradient_norm = GradientNorm::kOmitted;  // whether training steps report it
  GivenForms given = {};  // inputs whose fields have another form than the graph reads, such as bytes
  bool entries = true;    // include the model's entries; false: only its graph's own sizes
  // For ranks in several processes: every step counts the ranks that want to stop (graph/derive/count_votes.h).
  bool count_votes = false;
  bool verify_passes = false;  // check the graph after each pass (graph/passes/run_passes.h); tests always do
  std::set<std::string> disabled_passes = {};  // optional ones of AllPasses, by name; else kInvalidArgument
  // Called after each pass with its name, the entry point and the graph. May be null.
  std::function<void(const std::string& pass, const std::string& entry, const Graph& graph)> after_pass = nullptr;
};

// Makes the entry points `train`, `evaluate` and `predict`, the same for each other size of the model under that size's
// name (graph/ir/entry_point.h), and the model's entries with results. Pure and linear in the graph. Errors name the
// node or the strategy's entry, and the model's entry.
absl::StatusOr<Program> MakeProgram(const Model& model, const Strategy& strategy, const OpRegistry& registry,
                                    const ProgramOptions& options = {});

struct PassName {
  std::string name;
  bool optional = false;  // it may be disabled: it changes how fast a program is, not what it computes
};
// The passes of the compiler, in their order; graph, strategy and options decide which of them a program needs.
std::vector<PassName> AllPasses(const OpRegistry& registry);

// The program with only these entry points (CHECKed), the states of the first one and the groups that they need.
Program OnlyEntries(Program program, const std::vector<std::string>& entries);

// Adds the groups that `graph` needs and the program lacks, in the order of their first use, all groups of one set of
// axes together. A reshard without data movement needs none.
void CollectGroups(const Graph& graph, Program& program);

// The bytes that one step of `entry` moves in each group of the program, from the layouts.
std::vector<MoveBytes> PredictBytes(const Program& program, const Graph& entry);

}  // namespace partita

#endif  // PARTITA_GRAPH_MAKE_PROGRAM_H_
