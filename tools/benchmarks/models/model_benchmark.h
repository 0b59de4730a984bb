// Training throughput and memory of models, in several precisions, split or not, beside another framework in several
// forms.
//
// Each session is a process of its own (model_loop.h), and each form of the peer as well. All train in turns, on random
// batches that lie ready in the host's memory, behind a round that warms up. Medians over the rounds. What the device
// does at most is measured in each round as well (tools/benchmarks/kernels/limit_meter.h).
#ifndef PARTITA_TOOLS_BENCHMARKS_MODELS_MODEL_BENCHMARK_H_
#define PARTITA_TOOLS_BENCHMARKS_MODELS_MODEL_BENCHMARK_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "tools/benchmarks/median.h"
#include "tools/benchmarks/models/agreement.h"
#include "tools/benchmarks/models/model_case.h"
#include "tools/benchmarks/models/model_loop.h"
#include "tools/benchmarks/models/peer_forms.h"

namespace partita {

struct ModelBenchmarkOptions {
  std::vector<MeasuredModel> models;
  std::vector<std::string> precisions;  // of BenchmarkPrecisions
  ModelSplit split;
  bool gpu = false;                       // the first one; else the host
  int threads = 2;                        // of the host, for all ranks together
  std::vector<std::string> loop_command;  // `benchmark loop`, without what a case adds
  std::vector<std::string> peer_command;  // as above; empty: no peer
  std::string peer;                       // its name
  std::vector<PeerForm> peer_forms;
  AgreementPrograms agreement;  // empty script: the peer's network is not compared
  int64_t steps = 20;           // of one case in one round
  int64_t rounds = 7;
};

// What the rounds say: the median, and where it lies with 95 % (median.h).
struct Estimate {
  double median = 0;
  Interval interval;
};

// What one process reaches.
struct Throughput {
  std::string name;            // "ours", "one rank", or a form of the peer
  Estimate per_s;              // in the row's unit
  Estimate ratio;              // ours over it, of the rounds
  int64_t resident_bytes = 0;  // of the whole process, the most that was in memory
  int64_t grown_bytes = 0;     // the same less what there was before anything was made
  std::string failure;         // why it does not run; empty: it does
};

struct ModelRow {
  std::string model, precision;
  int64_t batch = 0, image_size = 0;
  std::vector<std::string> sizes;  // GivenSizes
  ThroughputUnit unit;
  LoopFacts session;
  Throughput ours;
  double flops_per_s = 0;          // of the model's training graph: what is computed twice counts once
  double product_flops_per_s = 0;  // of the fastest product or 1 x 1 convolution in the precision, by all threads
  double flop_utilisation = 0;     // the first over the second
  double limit_share = 0;          // the least time of a step's launches (LeastSeconds), over its time
  double exposed_share = 0;        // exposed communication of the steps that count, over their time
  std::vector<Throughput> others;  // one rank where there are several, with as many threads; then the peer's forms
  std::string peer;                // with its version; empty: none
  Agreement agreement;
  std::string best;  // of the peer's forms; empty: none runs
  Estimate ratio;    // ours over that one
};

// kDataLoss: the peer's network is another one (agreement.h).
absl::StatusOr<std::vector<ModelRow>> BenchmarkModels(const ModelBenchmarkOptions& options);

// What a row says behind its batch: " of 299 px", ", hidden=256".
std::string SizesText(const ModelRow& row);
// "1 rank of 2 threads", "4 ranks (data:2 model:2) of 1 thread".
std::string RanksText(const LoopFacts& session);

// Some lines of text for each row; a JSON array with the members of ModelRow; a page of HTML that needs no other file,
// with bars.
std::string ToText(const std::vector<ModelRow>& rows);
std::string ToJson(const std::vector<ModelRow>& rows);
std::string ToHtml(const std::vector<ModelRow>& rows);

}  // namespace partita

#endif  // PARTITA_TOOLS_BENCHMARKS_MODELS_MODEL_BENCHMARK_H_
