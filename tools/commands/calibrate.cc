// `trainer calibrate`: how long kernels and collectives take on this machine, as a profile.
#include <spdlog/spdlog.h>

#include <algorithm>
#include <utility>

#include "partitioner/choose/ranked_finalists.h"
#include "partitioner/data_model_strategy.h"
#include "partitioner/proto_io/profile_io.h"
#include "run/host/host.h"
#include "run/plan/chosen_strategy.h"
#include "run/plan/inputs.h"
#include "run/plan/machine.h"
#include "run/plan/run_options.h"
#include "run/plan_report/strategy_file.h"
#include "runtime/base/files.h"
#include "tools/commands/calibrate/measure_machine.h"
#include "tools/commands/calibrate/settled_search.h"
#include "tools/commands/commands.h"
#include "tools/program/exit_code.h"

namespace partita {
namespace {

constexpr int64_t kSteps = 30;
constexpr double kMostSpread = 0.05, kLeastRSquared = 0.9;

// Times that vary, or lie on no line, are of a machine that does something else as well.
void WarnOfSpread(const Profile& profile) {
  const auto& fits = profile.collectives;
  const auto bad = std::ranges::count_if(fits, [](const auto& time) { return time.fit.r_squared < kLeastRSquared; });
  if (bad > 0) {
    spdlog::warn("{} of {} collectives lie on no line (R2 below {}): is the machine busy?", bad, fits.size(),
                 kLeastRSquared);
  }
  const auto varies = [](const KernelTime& kernel) { return kernel.spread > kMostSpread; };
  const auto count = std::ranges::count_if(profile.kernels, varies);
  if (count == 0) return;
  const KernelTime& worst = *std::ranges::max_element(profile.kernels, {}, &KernelTime::spread);
  spdlog::warn("{} of {} kernels vary by more than {:.0f} % (most {:.0f} %: {}): is the machine busy?", count,
               profile.kernels.size(), 100 * kMostSpread, 100 * worst.spread, worst.signature);
}

void Print(const Profile& profile, const std::string& path, std::ostream& out) {
  out << fmt::format("device          {}\n", profile.key.device);
  const DeviceKind& kind = profile.machine.kinds[0];
  out << fmt::format("cores           {:.1f} GFLOP/s of f32, {:.1f} GB/s copied\n",
                     1e-9 * kind.flops_per_second.at(DType::kF32), 1e-9 * kind.bytes_per_second);
  for (const auto& [ranks, slowdown] : profile.slowdown) {
    out << fmt::format("  {:>2} ranks      a rank's step takes {:.2f} times as long\n", ranks, slowdown);
  }
  out << fmt::format("waiting streams go on {:.1f} us late\n", 1e6 * kind.wake_seconds);
  out << fmt::format("kernels         {}\n", profile.kernels.size());
  out << "collectives\n";
  for (const CollectiveTime& time : profile.collectives) {
    const AlphaBeta& cost = time.fit.cost;
    out << fmt::format("  {:<14} {} {:<9} {:>8.1f} us {:>8.2f} GB/s   R2 {:.3f}\n", Name(time.kind), time.ranks,
                       time.processes ? "processes" : "threads", 1e6 * cost.alpha, cost.beta > 0 ? 1e-9 / cost.beta : 0,
                       time.fit.r_squared);
  }
  out << fmt::format("written to      {}\n", path);
}

// What is measured, or the first that is.
absl::StatusOr<Strategy> StrategyToMeasure(const RunSpec& spec, const Graph& graph) {
  if (!Searches(spec)) return ReadStrategy(spec, graph, std::nullopt);
  absl::StatusOr<Strategy> replicas = DataModelStrategy(graph, static_cast<int>(spec.split().ranks()), 1);
  if (!replicas.ok()) return WithContext("flag --search begins with replicas", replicas.status());
  SetOptions(spec, *replicas);
  return replicas;
}

// By each profile as `plan --search --profile` would.
absl::StatusOr<SettledSearch> Search(const RunSpec& spec, const Model& model, const Strategy& first,
                                     const CalibrationOptions& options) {
  return SearchUntilSettled(
      model, first, options, [&](const Profile& profile) -> absl::StatusOr<std::vector<Finalist>> {
        ASSIGN_OR_RETURN(Cluster cluster, ClusterOf(profile, /*processes=*/false));
        ASSIGN_OR_RETURN(ChosenStrategy chosen,
                         ChosenStrategyOf(spec, model, /*exact=*/false, Machine{std::move(cluster), profile}));
        return std::move(chosen.finalists);
      });
}

void Print(const SettledSearch& search, std::ostream& out) {
  out << FormatFinalists(search.finalists) << "\n";
  if (search.settled) {
    out << fmt::format("search {} found what was measured\n\n", search.searches);
    return;
  }
  spdlog::warn("after {} searches what is found was still not measured: it may be slower than it seems",
               search.searches);
}

absl::StatusOr<int> RunCalibrate(const ContextOf<RunSpec>& context) {
  const RunSpec& spec = context.spec;
  const std::string& path = spec.output().save_profile();
  ASSIGN_OR_RETURN(const ProtoFormat format, FormatOf(path));
  ASSIGN_OR_RETURN(Model model, ReadModel(spec));
  AssumeScheduleLength(model);
  ASSIGN_OR_RETURN(const Strategy strategy, StrategyToMeasure(spec, model.graph));
  ASSIGN_OR_RETURN(const MachineSpeed speed, SpeedFor(spec, std::nullopt, strategy.mesh.size()));
  CalibrationOptions options{ReadProgramOptions(spec, speed), ReadPlanOptions(spec, speed),
                             spec.train().steps() > 0 ? spec.train().steps() : kSteps};
  options.progress = [](const std::string& what) { spdlog::info("measuring {}", what); };
  SettledSearch search;
  if (Searches(spec)) {
    ASSIGN_OR_RETURN(search, Search(spec, model, strategy, options));
    Print(search, context.out);
  } else {
    ASSIGN_OR_RETURN(search.profile, MeasureMachine(model, {&strategy, 1}, options));
  }
  Profile& profile = search.profile;
  profile.key = KeyOfThisMachine();
  profile.time = TimeNow();
  WarnOfSpread(profile);
  RETURN_IF_ERROR(WriteFileAtomically(path, PrintProfile(profile, format)));
  if (spec.split().has_save_strategy()) {
    RETURN_IF_ERROR(
        SaveFoundStrategy(search.finalists[0].candidate.strategy, search.finalists, spec.split().save_strategy()));
  }
  Print(profile, path, context.out);
  return kExitFinished;
}

}  // namespace

Command CalibrateCommand() {
  Command command{"calibrate", "measure a graph's kernels and the collectives on this machine", "GRAPH",
                  Runs<RunSpec>(RunCalibrate)};
  command.choices = {{"device", {"host"}}};
  return command;
}

}  // namespace partita
