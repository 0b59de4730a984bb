// `trainer calibrate`: how long kernels and collectives take on this machine, as a profile.
#include <spdlog/spdlog.h>

#include <algorithm>

#include "partitioner/proto_io/profile_io.h"
#include "runtime/base/files.h"
#include "tools/commands/calibrate/measure_machine.h"
#include "tools/commands/commands.h"
#include "tools/commands/input/inputs.h"
#include "tools/commands/input/machine.h"
#include "tools/commands/input/run_options.h"
#include "tools/commands/output/outputs.h"
#include "tools/program/exit_code.h"
#include "tools/program/version/host.h"

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

absl::StatusOr<int> RunCalibrate(const CommandContext& context) {
  const Flags& flags = context.flags;
  if (!flags.IsSet("save-profile"))
    return FlagError("calibrate needs --save-profile=FILE, which ends in .pbtxt or .pb");
  const std::string& path = flags.Text("save-profile");
  RETURN_IF_ERROR(CheckOutputs(flags, {"save-profile"}));
  const absl::StatusOr<ProtoFormat> format = FormatOf(path);
  if (!format.ok() || *format == ProtoFormat::kJson) {
    return FlagError("flag --save-profile: {} ends in neither .pbtxt nor .pb", path);
  }
  RETURN_IF_ERROR(SetUpLogging(flags));
  ASSIGN_OR_RETURN(Model model, ReadModel(flags));
  AssumeScheduleLength(model);
  ASSIGN_OR_RETURN(const Strategy strategy, ReadStrategy(flags, model.graph, std::nullopt));
  ASSIGN_OR_RETURN(const MachineSpeed speed, SpeedFor(flags, std::nullopt, strategy.mesh.size()));
  CalibrationOptions options{ReadProgramOptions(flags, speed), ReadPlanOptions(flags, speed),
                             flags.Int("steps") > 0 ? flags.Int("steps") : kSteps};
  ASSIGN_OR_RETURN(Profile profile, MeasureMachine(model, {&strategy, 1}, options));
  profile.key = KeyOfThisMachine();
  profile.time = TimeNow();
  WarnOfSpread(profile);
  RETURN_IF_ERROR(WriteFileAtomically(path, PrintProfile(profile, *format)));
  Print(profile, path, context.out);
  return kExitFinished;
}

}  // namespace

Command CalibrateCommand() {
  Command command{"calibrate", "measure this machine: kernels of a graph, collectives", "GRAPH", ModelFlags(),
                  RunCalibrate};
  command.choices = {{"device", {"host"}}};
  for (const auto& flags : {StrategyFlags(), RunFlags(), AccelerationFlags()}) {
    command.flags.insert(command.flags.end(), flags.begin(), flags.end());
  }
  std::erase_if(command.flags, [](const std::string& flag) { return flag == "cluster" || flag == "profile"; });
  for (const char* flag : {"steps", "save-profile"}) command.flags.push_back(flag);
  return command;
}

}  // namespace partita
