#include "run/plan/run_options.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "graph/ir/entry_point.h"
#include "graph/read/model_entries.h"
#include "graph/sets/find_set_results.h"
#include "graph/value/node_name.h"
#include "ops/registry.h"
#include "ops/values/number_op.h"
#include "run/host/cache_folder.h"
#include "run/host/log.h"
#include "run/job/launcher.h"
#include "run/spec/flag.h"
#include "run/spec/spec_error.h"
#include "runtime/api/backend/gpu.h"
#include "runtime/base/status.h"

namespace partita {

namespace {

// Each of the processes that a launcher starts on one machine has a GPU of its own. A launcher that binds GPUs, as srun
// does with --gpus-per-task, shows each process only its own, which then is the first.
int GpuIndex(const RunSpec& spec) {
  if (spec.execution().gpu() >= 0) return static_cast<int>(spec.execution().gpu());
  const int local_rank = LocalRank(SystemEnvironment).value_or(0);
  return local_rank > 0 && VisibleGpus() == 1 ? 0 : local_rank;
}

std::string PlanFolder(const RunSpec& spec) {
  if (spec.execution().has_plan_cache()) return spec.execution().plan_cache();
  const std::string cache = CacheFolder();
  return cache.empty() ? "" : cache + "/plans";
}

OverlapHalo ReadOverlapHalo(const RunSpec& spec) {
  const std::string& overlap = spec.split().overlap_halo();
  return overlap == "on" ? OverlapHalo::kOn : overlap == "off" ? OverlapHalo::kOff : OverlapHalo::kAuto;
}

SessionOptions ReadRun(const RunSpec& spec, const MachineSpeed& speed) {
  SessionOptions options;
  options.speed = speed;
  options.threads_per_rank = static_cast<int>(spec.execution().threads());
  options.memory_limit = spec.execution().memory();
  options.overlap_halo = ReadOverlapHalo(spec);
  if (spec.execution().device() == "cuda") options.device.gpu = GpuIndex(spec);
  options.device.replay = !spec.execution().launch_each();
  options.device.warn = [](const std::string& what) { Log(LogLevel::kWarning, what); };
  options.device.tell = [](const std::string& what) { Log(LogLevel::kInfo, what); };
  options.device.detail = [](const std::string& what) { Log(LogLevel::kDebug, what); };
  return options;
}

void ReadAcceleration(const RunSpec& spec, DeviceOptions& device) {
  device.allow_tf32 = spec.execution().tf32();
  device.deterministic = spec.execution().deterministic();
  device.plan_folder = PlanFolder(spec);
}

}  // namespace

std::string GpuModelFor(const RunSpec& spec) {
  return spec.execution().device() == "cuda" ? ModelOfGpu(GpuIndex(spec)) : "";
}

DType FloatingType(const RunSpec& spec) { return spec.execution().precision() == "f64" ? DType::kF64 : DType::kF32; }

ProgramOptions ReadProgramOptions(const RunSpec& spec, const MachineSpeed& speed) {
  ProgramOptions options;
  options.speed = speed;
  options.floating = FloatingType(spec);
  options.mix_precision = spec.execution().precision() == "bf16";
  options.for_gpu = spec.execution().device() == "cuda";
  if (spec.split().has_bucket_bytes()) options.bucket_bytes = spec.split().bucket_bytes();
  options.gradient_norm = spec.output().gradient_norm() ? GradientNorm::kReported : GradientNorm::kIfClipped;
  options.verify_passes = spec.debug().verify_passes();
  if (spec.debug().has_disable_pass()) {
    const std::vector<std::string> passes = ListOf(spec.debug().disable_pass());
    options.disabled_passes = {passes.begin(), passes.end()};
  }
  return options;
}

// The shapes of one sample do not tell which dimension the samples are.
absl::StatusOr<SetResults> SetResultsOf(const Model& model) {
  const std::vector<EntryInput> inputs = InputsOf(model.graph);
  if (!inputs.empty() && model.graph.type(inputs[0].values[0]).shape[0] == 1) {
    if (const absl::StatusOr<Model> two = WithBatch(model, 2, Ops()); two.ok()) {
      return FindSetResults(*two, Ops(), IsOnNumbers);
    }
  }
  return FindSetResults(model, Ops(), IsOnNumbers);
}

absl::StatusOr<Program> MakeProgramOf(const RunSpec& spec, const Model& model, const Strategy& strategy,
                                      const ProgramOptions& options) {
  ASSIGN_OR_RETURN(const SetResults results, SetResultsOf(model));
  ProgramOptions reporting = options;
  reporting.evaluated.insert(reporting.evaluated.begin(), results.reported.begin(), results.reported.end());
  absl::StatusOr<Program> program = MakeProgram(model, strategy, Ops(), reporting);
  if (program.ok()) return program;
  const std::string split = spec.split().has_strategy() ? " with --strategy=" + spec.split().strategy() : "";
  return WithContext(spec.model().graph() + split, program.status());
}

SessionOptions ReadSessionOptions(const RunSpec& spec, const MachineSpeed& speed) {
  SessionOptions options = ReadExactSessionOptions(spec, speed);
  ReadAcceleration(spec, options.device);
  return options;
}

SessionOptions ReadExactSessionOptions(const RunSpec& spec, const MachineSpeed& speed) {
  SessionOptions options = ReadRun(spec, speed);
  options.seed = static_cast<uint64_t>(spec.train().seed());
  if (spec.debug().delay_seed() > 0) options.tests.delay_seed = static_cast<uint64_t>(spec.debug().delay_seed());
  return options;
}

SessionOptions ReadPlanOptions(const RunSpec& spec, const MachineSpeed& speed) {
  SessionOptions options = ReadRun(spec, speed);
  ReadAcceleration(spec, options.device);
  return options;
}

absl::Status CheckPasses(const RunSpec& spec) {
  std::vector<std::string> all, optional;
  for (const PassName& pass : AllPasses(Ops())) {
    all.push_back(pass.name);
    if (pass.optional) optional.push_back(pass.name);
  }
  const std::string& dumped = spec.debug().dump_after();
  if (spec.debug().has_dump_after() && std::ranges::find(all, dumped) == all.end()) {
    return FlagError("flag --dump-after is {}; expected one of {}", Quoted(dumped), fmt::join(all, ", "));
  }
  if (!spec.debug().has_disable_pass()) return absl::OkStatus();
  for (const std::string& name : ListOf(spec.debug().disable_pass())) {
    if (std::ranges::find(optional, name) != optional.end()) continue;
    const bool needed = std::ranges::find(all, name) != all.end();
    return FlagError("flag --disable-pass names {}, {}; expected {}", Quoted(name),
                     needed ? "which programs need" : "which is no pass", fmt::join(optional, ", "));
  }
  return absl::OkStatus();
}

absl::Status CheckDevice(const RunSpec& spec) {
  if (spec.execution().device() != "cuda") return absl::OkStatus();
  SessionOptions options;
  options.device.gpu = GpuIndex(spec);
  const absl::Status opened = OpenGpu(options).status();
  if (absl::IsInvalidArgument(opened)) return FlagError("flag --gpu: {}", std::string(opened.message()));
  return AsNoDevice(opened);
}

}  // namespace partita
