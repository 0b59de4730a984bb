#include "tools/benchmarks/models/model_case.h"

#include <algorithm>

#include "graph/proto_io/proto_io.h"
#include "partitioner/clusters/cluster_by_default.h"
#include "partitioner/data_model_strategy.h"
#include "run/host/cache_folder.h"
#include "run/plan/pixel_forms.h"
#include "runtime/api/backend/gpu.h"
#include "runtime/base/status.h"

namespace partita {
namespace {

MachineSpeed SpeedFor(const ModelCase& measured, int ranks) {
  return SpeedByDefault(ranks, measured.gpu ? ModelOfGpu(0) : "");
}

}  // namespace

std::vector<std::string> BenchmarkPrecisions(bool gpu) {
  return gpu ? std::vector<std::string>{"f32", "tf32", "bf16"} : std::vector<std::string>{"f32", "bf16"};
}

DType ProductType(const ModelCase& measured) { return measured.precision == "bf16" ? DType::kBF16 : DType::kF32; }

absl::StatusOr<Strategy> StrategyOf(const ModelCase& measured, const Graph& forward) {
  const ModelSplit& split = measured.split;
  if (split.strategy.empty()) {
    if (split.data == 1 && split.model == 1) return Strategy{};
    return DataModelStrategy(forward, split.data, split.model);
  }
  ASSIGN_OR_RETURN(Strategy strategy, LoadStrategy(split.strategy));
  RETURN_IF_ERROR(WithContext(split.strategy, CheckStrategy(strategy, forward)));
  return strategy;
}

ProgramOptions ProgramOptionsOf(const ModelCase& measured, const Graph& forward, int ranks) {
  ProgramOptions options;
  options.speed = SpeedFor(measured, ranks);
  options.mix_precision = ProductType(measured) == DType::kBF16;
  options.for_gpu = measured.gpu;
  options.given = AssumedForms(forward);
  return options;
}

SessionOptions SessionOptionsOf(const ModelCase& measured, int ranks) {
  SessionOptions options;
  options.speed = SpeedFor(measured, ranks);
  options.threads_per_rank = std::max(1, measured.threads / ranks);
  options.device.allow_tf32 = measured.precision == "tf32";
  options.device.deterministic = false;
  if (const std::string cache = CacheFolder(); !cache.empty()) options.device.plan_folder = cache + "/plans";
  if (measured.gpu) options.device.gpu = 0;
  return options;
}

}  // namespace partita
