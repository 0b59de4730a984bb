#include "run/plan/inputs.h"

#include "absl/strings/str_split.h"
#include "graph/proto_io/proto_io.h"
#include "graph/read/model_entries.h"
#include "importer/import_model.h"
#include "ops/registry.h"
#include "partitioner/data_model_strategy.h"
#include "run/plan/chosen_strategy.h"
#include "run/plan/training_settings.h"
#include "run/spec/flag.h"
#include "run/spec/spec_error.h"
#include "runtime/base/number.h"
#include "runtime/train/graph_fields.h"
#include "runtime/train/trainer.h"

namespace partita {
namespace {

absl::Status CheckRanks(const RunSpec& spec, const Mesh& mesh, const std::string& what) {
  if (!spec.split().has_ranks() || spec.split().ranks() == mesh.size()) return absl::OkStatus();
  return FlagError("flag --ranks is {}, but {} has {} ({}); they must be equal", spec.split().ranks(), what,
                   Counted(mesh.size(), "rank"), mesh.ToString());
}

absl::StatusOr<Strategy> StrategyOfFile(const RunSpec& spec, const Graph& forward) {
  const std::string& path = spec.split().strategy();
  ASSIGN_OR_RETURN(Strategy strategy, LoadStrategy(path));
  RETURN_IF_ERROR(WithContext(path, CheckStrategy(strategy, forward)));
  RETURN_IF_ERROR(CheckRanks(spec, strategy.mesh, path));
  return strategy;
}

absl::StatusOr<SplitSpeed> SpeedForSplits(const std::optional<Machine>& machine, int data, int model) {
  if (!machine) return SplitSpeed{};
  RETURN_IF_ERROR(CheckRanks(machine->cluster, data * model));
  return SpeedOfSplits(machine->cluster, data, model);
}

LayerSplit SplitOf(const std::string& split, bool convolutions, const Graph& forward, int data,
                   const SplitSpeed& speed) {
  if (split == "auto") return CheaperSplit(forward, data, convolutions, speed);
  if (split == "rows") return LayerSplit::kRows;
  return split == "samples" ? LayerSplit::kSamples : LayerSplit::kChannels;
}

// A replica without samples would only wait for the others.
absl::Status CheckReplicas(const Graph& forward, int64_t replicas) {
  const absl::StatusOr<int64_t> samples = BatchRows(forward);
  if (!samples.ok() || replicas <= *samples) return absl::OkStatus();
  return FlagError("flag --dp is {}, but the batch has {}; expected at most one replica per sample", replicas,
                   Counted(*samples, "sample"));
}

// --dp, or what --ranks leaves for it.
int64_t Replicas(const RunSpec& spec) {
  const int64_t model = spec.split().mp(), ranks = spec.split().ranks();
  const bool rest = spec.split().has_ranks() && !spec.split().has_dp() && ranks % model == 0;
  return rest ? ranks / model : spec.split().dp();
}

absl::StatusOr<Strategy> StrategyOfSizes(const RunSpec& spec, const Graph& forward,
                                         const std::optional<Machine>& machine) {
  const auto model = static_cast<int>(spec.split().mp()), data = static_cast<int>(Replicas(spec));
  RETURN_IF_ERROR(CheckReplicas(forward, data));
  ASSIGN_OR_RETURN(const SplitSpeed speed, SpeedForSplits(machine, data, model));
  DataModelOptions options;
  options.convolutions = SplitOf(spec.split().convolutions(), true, forward, data, speed);
  options.dense = SplitOf(spec.split().dense(), false, forward, data, speed);
  options.input_gradients = *FindInputGradients(spec.split().input_gradients());
  ASSIGN_OR_RETURN(Strategy strategy, DataModelStrategy(forward, data, model, options));
  RETURN_IF_ERROR(CheckRanks(spec, strategy.mesh, fmt::format("--dp={} x --mp={}", data, model)));
  return strategy;
}

}  // namespace

absl::StatusOr<Model> ReadModel(const RunSpec& spec) {
  ASSIGN_OR_RETURN(Model model, ReadModelFile(spec.model().graph(), Ops(), ImportOptionsOf(spec)));
  return Sized(spec, std::move(model));
}

absl::StatusOr<Model> Sized(const RunSpec& spec, Model model) {
  if (spec.model().batch() > 0) {
    absl::StatusOr<Model> sized = WithBatch(model, spec.model().batch(), Ops());
    if (!sized.ok()) {
      return WithContext(fmt::format("{} with --batch={}", spec.model().graph(), spec.model().batch()), sized.status());
    }
    model = *std::move(sized);
  }
  return WithTrainingSettings(spec, std::move(model));
}

void AssumeScheduleLength(Model& model) { SetScheduleLength(1, model.learning_rate); }

absl::StatusOr<Strategy> ReadStrategy(const RunSpec& spec, const Graph& forward,
                                      const std::optional<Machine>& machine) {
  ASSIGN_OR_RETURN(Strategy strategy, spec.split().has_strategy() ? StrategyOfFile(spec, forward)
                                                                  : StrategyOfSizes(spec, forward, machine));
  SetOptions(spec, strategy);
  return strategy;
}

void SetOptions(const RunSpec& spec, Strategy& strategy) {
  if (spec.split().has_exchanges()) strategy.exchanges = FindExchangeMode(spec.split().exchanges());
  if (spec.split().has_micro_batches()) strategy.pipeline.micro_batches = spec.split().micro_batches();
  if (!spec.split().has_recompute()) return;
  strategy.recompute.clear();
  if (spec.split().recompute() == "none") return;
  for (const std::string& block : ListOf(spec.split().recompute())) {
    strategy.recompute.push_back({absl::StrSplit(block, '+')});
  }
}

absl::StatusOr<int64_t> RanksOf(const RunSpec& spec) {
  if (Searches(spec)) return RanksOfSearch(spec);
  if (!spec.split().has_strategy()) return Replicas(spec) * spec.split().mp();
  ASSIGN_OR_RETURN(const Strategy strategy, LoadStrategy(spec.split().strategy()));
  return strategy.mesh.size();
}

}  // namespace partita
