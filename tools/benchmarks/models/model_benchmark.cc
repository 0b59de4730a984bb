#include "tools/benchmarks/models/model_benchmark.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "graph/ir/node_flops.h"
#include "runtime/base/status.h"
#include "tools/benchmarks/kernels/kernel_benchmark.h"
#include "tools/benchmarks/median.h"
#include "tools/benchmarks/train/train_peer.h"
#include "tools/benchmarks/train/training_loop.h"

namespace partita {
namespace {

struct Arithmetic {
  const char* name;
  DType product;  // of the limit's factors
  bool host;      // known there
  bool tf32;
};

constexpr Arithmetic kPrecisions[] = {
    {"f32", DType::kF32, true, false}, {"tf32", DType::kF32, false, true}, {"bf16", DType::kBF16, true, false}};

absl::StatusOr<Arithmetic> FindArithmetic(const std::string& name, bool gpu) {
  for (const Arithmetic& arithmetic : kPrecisions) {
    if (name == arithmetic.name && (gpu || arithmetic.host)) return arithmetic;
  }
  return InvalidArgument("precision '{}' is none of the {}'s", name, gpu ? "GPU" : "host");
}

struct Peer {
  PeerMode mode;
  std::unique_ptr<TrainPeer> process;  // null: it failed
  std::vector<double> rates;
};

// A row in the making.
struct Case {
  ModelRow row;
  std::unique_ptr<TrainingLoop> loop;
  std::vector<double> rates;
  std::vector<Peer> peers;
};

double FlopsOfStep(const Graph& train) {
  double flops = 0;
  for (const Node& node : train.nodes()) flops += FlopsOf(train, node);
  return flops;
}

SessionOptions DeviceOf(const ModelBenchmarkOptions& options, const Arithmetic& arithmetic) {
  SessionOptions session;
  session.threads_per_rank = options.threads;
  session.device.allow_tf32 = arithmetic.tf32;
  if (options.gpu) session.device.gpu = 0;
  return session;
}

absl::StatusOr<double> MeasureLimit(const ModelBenchmarkOptions& options, const Arithmetic& arithmetic) {
  ASSIGN_OR_RETURN(const KernelTarget target, OpenTarget(DeviceOf(options, arithmetic)));
  return MeasureProduct(target, arithmetic.product, static_cast<int>(options.rounds));
}

absl::Status StartOurs(const ModelBenchmarkOptions& options, const MeasuredModel& sizes, const Arithmetic& arithmetic,
                       Case& entry) {
  ASSIGN_OR_RETURN(Model model, MakeMeasuredModel(sizes));
  ProgramOptions program;
  program.mix_precision = arithmetic.product == DType::kBF16;
  program.for_gpu = options.gpu;
  SessionOptions session = DeviceOf(options, arithmetic);
  session.group_updates = true;
  session.device.deterministic = false;
  ASSIGN_OR_RETURN(entry.loop, TrainingLoop::Create(std::move(model), Strategy{}, program, session));
  const std::string gpu = entry.loop->session().gpu_name();
  entry.row.device = gpu.empty() ? "host" : gpu;
  return absl::OkStatus();
}

// A mode that does not run on this machine (a compiler that is missing, say) is told, and left out.
void StartPeers(const ModelBenchmarkOptions& options, const MeasuredModel& sizes, Case& entry) {
  if (options.peer_command.empty()) return;
  for (const std::string& mode : options.peer_modes) {
    std::vector<std::string> command = options.peer_command;
    command.insert(command.end(),
                   {"--model=" + sizes.name, fmt::format("--batch={}", sizes.batch),
                    fmt::format("--image-size={}", sizes.image_size), fmt::format("--threads={}", options.threads),
                    std::string("--device=") + (options.gpu ? "cuda" : "cpu"), "--precision=" + entry.row.precision,
                    "--mode=" + mode});
    Peer& peer = entry.peers.emplace_back();
    peer.mode.name = mode;
    absl::StatusOr<std::unique_ptr<TrainPeer>> process = TrainPeer::Start(command);
    if (process.ok()) {
      peer.process = *std::move(process);
      entry.row.peer = options.peer + " " + peer.process->version();
    } else {
      peer.mode.failure = std::string(process.status().message());
    }
  }
}

absl::Status RunRound(const ModelBenchmarkOptions& options, bool counts, Case& entry) {
  ASSIGN_OR_RETURN(const TrainingResult result, entry.loop->Run(options.steps));
  if (counts) entry.rates.push_back(result.SamplesPerSecond());
  for (Peer& peer : entry.peers) {
    if (peer.process == nullptr) continue;
    const absl::StatusOr<double> seconds = peer.process->Run(options.steps);
    if (!seconds.ok()) {
      peer.mode.failure = std::string(seconds.status().message());
      peer.process = nullptr;
    } else if (counts) {
      peer.rates.push_back(static_cast<double>(options.steps * entry.row.batch) / *seconds);
    }
  }
  return absl::OkStatus();
}

void Finish(double limit, Case& entry) {
  ModelRow& row = entry.row;
  row.samples_per_s = Median(entry.rates);
  row.flops_per_s =
      row.samples_per_s / static_cast<double>(row.batch) * FlopsOfStep(entry.loop->session().graph(kTrainEntry));
  row.limit_share = row.flops_per_s / limit;
  double best = 0;
  for (Peer& peer : entry.peers) {
    if (peer.mode.failure.empty()) {
      peer.mode.samples_per_s = Median(peer.rates);
      peer.mode.ratio = MedianRatio(entry.rates, peer.rates);
    }
    if (peer.mode.samples_per_s > best) {
      best = peer.mode.samples_per_s;
      row.ratio = peer.mode.ratio;
    }
    row.modes.push_back(peer.mode);
  }
}

}  // namespace

std::vector<std::string> BenchmarkPrecisions(bool gpu) {
  std::vector<std::string> names;
  for (const Arithmetic& arithmetic : kPrecisions) {
    if (gpu || arithmetic.host) names.emplace_back(arithmetic.name);
  }
  return names;
}

absl::StatusOr<std::vector<ModelRow>> BenchmarkModels(const ModelBenchmarkOptions& options) {
  std::vector<ModelRow> rows;
  for (const std::string& name : options.precisions) {
    ASSIGN_OR_RETURN(const Arithmetic arithmetic, FindArithmetic(name, options.gpu));
    ASSIGN_OR_RETURN(const double limit, MeasureLimit(options, arithmetic));
    for (const MeasuredModel& sizes : options.models) {
      Case entry;
      entry.row.model = sizes.name;
      entry.row.batch = sizes.batch;
      entry.row.precision = name;
      RETURN_IF_ERROR(StartOurs(options, sizes, arithmetic, entry));
      StartPeers(options, sizes, entry);
      for (int64_t round = 0; round <= options.rounds; ++round) {
        RETURN_IF_ERROR(RunRound(options, /*counts=*/round > 0, entry));
      }
      Finish(limit, entry);
      rows.push_back(std::move(entry.row));
    }
  }
  return rows;
}

}  // namespace partita
