// `trainer sweep`: how fast a graph trains on 1, 2, 4, ... devices of a cluster, by the size of replicas. Steps are
// simulated; nothing is run.
#include "tools/commands/sweep/sweep.h"

#include <fmt/format.h>

#include <algorithm>

#include "graph/read/model_entries.h"
#include "ops/registry.h"
#include "partitioner/data_model_strategy.h"
#include "partitioner/proto_io/epoch_curve_io.h"
#include "partitioner/simulate/step_prediction.h"
#include "run/plan/chosen_strategy.h"
#include "run/plan/inputs.h"
#include "run/plan/machine.h"
#include "run/plan/predicted_plan.h"
#include "runtime/base/check.h"
#include "runtime/base/files.h"
#include "runtime/base/number.h"
#include "runtime/base/status.h"
#include "runtime/train/graph_fields.h"
#include "tools/commands/commands.h"
#include "tools/program/exit_code.h"

namespace partita {
namespace {

// A replica's layers are split as moves their bytes soonest.
DataModelOptions OptionsOf(const Graph& forward, const Cluster& cluster, const SweepWay& way) {
  const SplitSpeed speed = SpeedOfSplits(cluster, way.replicas(), way.split);
  DataModelOptions options;
  options.convolutions = CheaperSplit(forward, way.replicas(), true, speed);
  options.dense = CheaperSplit(forward, way.replicas(), false, speed);
  return options;
}

bool Has(const Graph& forward, Role role) {
  return std::ranges::any_of(forward.nodes(), [&](const Node& node) { return node.op->role == role; });
}

std::string FlagsOf(const Graph& forward, const SweepWay& way, const DataModelOptions& options) {
  std::string flags = fmt::format("--dp={} --mp={}", way.replicas(), way.split);
  if (way.split == 1) return flags;
  const auto split = [](LayerSplit of) { return of == LayerSplit::kSamples ? "samples" : "channels"; };
  if (Has(forward, Role::kConvolution)) flags += fmt::format(" --convolutions={}", split(options.convolutions));
  if (Has(forward, Role::kProduct)) flags += fmt::format(" --dense={}", split(options.dense));
  return flags;
}

absl::StatusOr<PredictedStep> Predict(const RunSpec& spec, const Model& model, const Machine& machine,
                                      const SweepWay& way, int64_t batch) {
  const Cluster& cluster = machine.cluster;
  ASSIGN_OR_RETURN(const Model sized, WithBatch(model, batch, Ops()));
  const DataModelOptions options = OptionsOf(sized.graph, cluster, way);
  ASSIGN_OR_RETURN(const Strategy strategy, DataModelStrategy(sized.graph, way.replicas(), way.split, options));
  ASSIGN_OR_RETURN(const PredictedPlan plan, PredictedPlanOf(spec, sized, machine, strategy));
  RETURN_IF_ERROR(plan.fits);
  const StepTimes most = MostOfAnyRank(plan.step);
  return PredictedStep{most.step, most.exposed, FlagsOf(sized.graph, way, options)};
}

absl::StatusOr<SweepOptions> ReadOptions(const RunSpec& spec, const Model& model, const Machine& machine) {
  const Cluster& cluster = machine.cluster;
  SweepOptions options;
  const auto devices = static_cast<int>(cluster.devices.size());
  options.most_devices = static_cast<int>(RanksOn(machine, spec));
  if (options.most_devices > devices) {
    return FlagError("flag --ranks is {}, but cluster '{}' has {}", options.most_devices, cluster.name,
                     Counted(devices, "device"));
  }
  if (spec.split().has_mp()) options.largest_split = static_cast<int>(spec.split().mp());
  ASSIGN_OR_RETURN(options.replica_batch, BatchRows(model.graph));
  if (spec.plan().has_curve()) {
    const std::string& path = spec.plan().curve();
    ASSIGN_OR_RETURN(options.curve, LoadEpochCurve(path));
    const absl::StatusOr<double> epochs = EpochsAt(*options.curve, options.replica_batch);
    if (!epochs.ok()) return WithContext(path, epochs.status());
  }
  return options;
}

absl::StatusOr<int> RunSweep(const ContextOf<RunSpec>& context) {
  const RunSpec& spec = context.spec;
  // Each rank has a GPU of its own, and so a process.
  ASSIGN_OR_RETURN(const std::optional<Machine> machine,
                   ReadMachine(spec.machine(), spec.execution().device() == "cuda"));
  CHECK(machine.has_value());  // CheckSpec
  const Cluster& cluster = machine->cluster;
  ASSIGN_OR_RETURN(Model model, ReadModel(spec));
  AssumeScheduleLength(model);
  ASSIGN_OR_RETURN(const SweepOptions options, ReadOptions(spec, model, *machine));
  const absl::StatusOr<Sweep> sweep = MakeSweep(
      options, [&](const SweepWay& way, int64_t batch) { return Predict(spec, model, *machine, way, batch); });
  if (!sweep.ok()) return WithContext(spec.model().graph(), sweep.status());
  const SweepTitle title{model.name, cluster.name};
  if (spec.output().has_page()) RETURN_IF_ERROR(WriteFileAtomically(spec.output().page(), SweepToHtml(*sweep, title)));
  context.out << (spec.output().format() == "json" ? SweepToJson(*sweep, title) : FormatSweep(*sweep, title));
  return kExitFinished;
}

}  // namespace

Command SweepCommand() {
  Command command{"sweep", "predict speed on 1, 2, 4, ... devices of a --cluster, and when larger replicas are faster",
                  "GRAPH", Runs<RunSpec>(RunSweep)};
  command.choices = {{"format", {"text", "json"}}};
  return command;
}

}  // namespace partita
