// One model as it is measured: its sizes, how it is split, and on what it runs.
#ifndef PARTITA_TOOLS_BENCHMARKS_MODELS_MODEL_CASE_H_
#define PARTITA_TOOLS_BENCHMARKS_MODELS_MODEL_CASE_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "graph/derive/strategy.h"
#include "graph/ir/model.h"
#include "graph/make_program.h"
#include "runtime/api/rank/session_options.h"
#include "tools/benchmarks/models/measured_models.h"

namespace partita {

struct ModelSplit {
  int data = 1, model = 1;  // as --dp and --mp of the trainer
  std::string strategy;     // file; over both
};

struct ModelCase {
  MeasuredModel sizes;
  ModelSplit split;
  std::string precision;  // of BenchmarkPrecisions
  bool gpu = false;       // the first one, of all ranks; else the host
  int threads = 2;        // of the host's kernels, of all ranks together; each has one at least
};

// "f32", "tf32" (products round their factors; on a GPU), "bf16" (on weights in f32).
std::vector<std::string> BenchmarkPrecisions(bool gpu);
// Of the factors of products.
DType ProductType(const ModelCase& measured);

// kInvalidArgument: a strategy that is not the model's.
absl::StatusOr<Strategy> StrategyOf(const ModelCase& measured, const Graph& forward);

// The program of a model with this forward graph, for this number of ranks. Pictures arrive as bytes, as in the
// trainer.
ProgramOptions ProgramOptionsOf(const ModelCase& measured, const Graph& forward, int ranks);
// The options for this number of ranks, as the trainer sets them without --deterministic.
SessionOptions SessionOptionsOf(const ModelCase& measured, int ranks);

}  // namespace partita

#endif  // PARTITA_TOOLS_BENCHMARKS_MODELS_MODEL_CASE_H_
