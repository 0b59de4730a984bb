// Training throughput of models on one device, in several precisions, beside another framework in all its modes.
//
// Ours and every mode of the peer train in turns, on random batches that lie ready in the host's memory. The work of a
// step is the FLOPs of the training graph's nodes; the limit is a large product of two matrices in the same precision,
// measured first. Medians over the rounds; one that warms up is not counted.
#ifndef PARTITA_TOOLS_BENCHMARKS_MODELS_MODEL_BENCHMARK_H_
#define PARTITA_TOOLS_BENCHMARKS_MODELS_MODEL_BENCHMARK_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "tools/benchmarks/models/measured_models.h"

namespace partita {

struct ModelBenchmarkOptions {
  std::vector<MeasuredModel> models;
  std::vector<std::string> precisions;    // of BenchmarkPrecisions
  bool gpu = false;                       // the first one; else the host
  int threads = 2;                        // of the host
  std::vector<std::string> peer_command;  // without what a case adds; empty: no peer
  std::string peer;                       // its name
  std::vector<std::string> peer_modes;    // "eager", "graph", "compile"
  int64_t steps = 20;                     // of one case in one round
  int64_t rounds = 7;
};

// "f32", "tf32" (products round their factors), "bf16" (on weights in f32).
std::vector<std::string> BenchmarkPrecisions(bool gpu);

// One way in which the peer runs the model.
struct PeerMode {
  std::string name;
  double samples_per_s = 0;
  double ratio = 0;     // ours over it, median of the rounds' ratios
  std::string failure;  // why it does not run; empty: it does
};

struct ModelRow {
  std::string device, model, precision;
  int64_t batch = 0;
  double samples_per_s = 0;
  double flops_per_s = 0;
  double limit_share = 0;
  std::string peer;             // with its version; empty: none
  std::vector<PeerMode> modes;  // of the peer
  double ratio = 0;             // over its best mode; 0: none runs
};

absl::StatusOr<std::vector<ModelRow>> BenchmarkModels(const ModelBenchmarkOptions& options);

// One row per line for people, or a JSON array with the members of ModelRow.
std::string ToText(const std::vector<ModelRow>& rows);
std::string ToJson(const std::vector<ModelRow>& rows);

}  // namespace partita

#endif  // PARTITA_TOOLS_BENCHMARKS_MODELS_MODEL_BENCHMARK_H_
