#include "tools/commands/input/inputs.h"

#include "absl/strings/str_split.h"
#include "graph/proto_io/proto_io.h"
#include "graph/read/model_entries.h"
#include "ops/registry.h"
#include "partitioner/data_model_strategy.h"
#include "runtime/train/trainer.h"
#include "tools/commands/input/chosen_strategy.h"
#include "tools/program/exit_code.h"

namespace partita {
namespace {

absl::Status CheckRanks(const Flags& flags, const Mesh& mesh, const std::string& what) {
  if (!flags.Given("ranks") || flags.Int("ranks") == mesh.size()) return absl::OkStatus();
  return FlagError("flag --ranks is {}, but {} has {} ranks ({}); they must be equal", flags.Int("ranks"), what,
                   mesh.size(), mesh.ToString());
}

absl::StatusOr<Strategy> StrategyOfFile(const Flags& flags, const Graph& forward) {
  const std::string& path = flags.Text("strategy");
  for (const char* other : {"dp", "mp", "convolutions", "dense", "input-gradients"}) {
    if (flags.Given(other)) return FlagError("flags --strategy and --{} are given; one of them is allowed", other);
  }
  ASSIGN_OR_RETURN(Strategy strategy, LoadStrategy(path));
  RETURN_IF_ERROR(WithContext(path, CheckStrategy(strategy, forward)));
  RETURN_IF_ERROR(CheckRanks(flags, strategy.mesh, path));
  return strategy;
}

absl::StatusOr<SplitSpeed> SpeedForSplits(const std::optional<Machine>& machine, int data, int model) {
  if (!machine) return SplitSpeed{};
  RETURN_IF_ERROR(CheckRanks(machine->cluster, data * model));
  return SpeedOfSplits(machine->cluster, data, model);
}

LayerSplit SplitOf(const Flags& flags, const std::string& flag, const Graph& forward, int data,
                   const SplitSpeed& speed) {
  const std::string& split = flags.Text(flag);
  if (split == "auto") return CheaperSplit(forward, data, flag == "convolutions", speed);
  if (split == "rows") return LayerSplit::kRows;
  return split == "samples" ? LayerSplit::kSamples : LayerSplit::kChannels;
}

// --dp, or what --ranks leaves for it.
int64_t Replicas(const Flags& flags) {
  const int64_t model = flags.Int("mp"), ranks = flags.Int("ranks");
  const bool rest = flags.Given("ranks") && !flags.Given("dp") && ranks % model == 0;
  return rest ? ranks / model : flags.Int("dp");
}

absl::StatusOr<Strategy> StrategyOfSizes(const Flags& flags, const Graph& forward,
                                         const std::optional<Machine>& machine) {
  const auto model = static_cast<int>(flags.Int("mp")), data = static_cast<int>(Replicas(flags));
  ASSIGN_OR_RETURN(const SplitSpeed speed, SpeedForSplits(machine, data, model));
  DataModelOptions options;
  options.convolutions = SplitOf(flags, "convolutions", forward, data, speed);
  options.dense = SplitOf(flags, "dense", forward, data, speed);
  options.input_gradients = *FindInputGradients(flags.Text("input-gradients"));
  ASSIGN_OR_RETURN(Strategy strategy, DataModelStrategy(forward, data, model, options));
  RETURN_IF_ERROR(CheckRanks(flags, strategy.mesh, fmt::format("--dp={} x --mp={}", data, model)));
  return strategy;
}

}  // namespace

std::vector<std::string> ModelFlags() { return {"batch", "learning-rate"}; }

std::vector<std::string> StrategyFlags() {
  return {"ranks",         "dp",        "mp",        "convolutions", "dense",  "input-gradients", "strategy",
          "micro-batches", "exchanges", "recompute", "cluster",      "profile"};
}

absl::StatusOr<Model> ReadModel(const Flags& flags) {
  const std::string& path = flags.arguments()[0];
  ASSIGN_OR_RETURN(Model model, LoadModel(path, Ops()));
  if (flags.Int("batch") > 0) {
    absl::StatusOr<Model> sized = WithBatch(model, flags.Int("batch"), Ops());
    if (!sized.ok()) return WithContext(fmt::format("{} with --batch={}", path, flags.Int("batch")), sized.status());
    model = *std::move(sized);
  }
  if (flags.IsSet("learning-rate")) model.learning_rate.base = flags.Float("learning-rate");
  return model;
}

void AssumeScheduleLength(Model& model) { SetScheduleLength(1, model.learning_rate); }

absl::StatusOr<Strategy> ReadStrategy(const Flags& flags, const Graph& forward, const std::optional<Machine>& machine) {
  ASSIGN_OR_RETURN(Strategy strategy,
                   flags.IsSet("strategy") ? StrategyOfFile(flags, forward) : StrategyOfSizes(flags, forward, machine));
  SetOptions(flags, strategy);
  return strategy;
}

void SetOptions(const Flags& flags, Strategy& strategy) {
  if (flags.Given("exchanges")) strategy.exchanges = FindExchangeMode(flags.Text("exchanges"));
  if (flags.Given("micro-batches")) strategy.pipeline.micro_batches = flags.Int("micro-batches");
  if (!flags.Given("recompute")) return;
  strategy.recompute.clear();
  if (flags.Text("recompute") == "none") return;
  for (const absl::string_view block : absl::StrSplit(flags.Text("recompute"), ',')) {
    strategy.recompute.push_back({absl::StrSplit(block, '+')});
  }
}

absl::StatusOr<int64_t> RanksOf(const Flags& flags) {
  if (!flags.Has("strategy")) return 1;
  if (Searches(flags)) return RanksOfSearch(flags);
  if (!flags.IsSet("strategy")) return Replicas(flags) * flags.Int("mp");
  ASSIGN_OR_RETURN(const Strategy strategy, LoadStrategy(flags.Text("strategy")));
  return strategy.mesh.size();
}

}  // namespace partita
