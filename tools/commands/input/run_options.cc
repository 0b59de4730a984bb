#include "tools/commands/input/run_options.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <cstring>

#include "graph/ir/entry_point.h"
#include "graph/read/model_entries.h"
#include "graph/sets/find_set_results.h"
#include "ops/registry.h"
#include "ops/values/number_op.h"
#include "runtime/api/backend/gpu.h"
#include "runtime/base/status.h"
#include "runtime/telemetry/log.h"
#include "tools/program/cache_folder.h"
#include "tools/program/exit_code.h"
#include "tools/program/start/nccl_variables.h"

namespace partita {

namespace {

// Of the processes that a launcher starts on one machine each has a GPU of its own.
int GpuIndex(const Flags& flags) {
  if (flags.Int("gpu") >= 0) return static_cast<int>(flags.Int("gpu"));
  const char* const local_rank = std::getenv("LOCAL_RANK");
  int index = 0;
  if (local_rank != nullptr) std::from_chars(local_rank, local_rank + std::strlen(local_rank), index);
  return std::max(0, index);
}

std::string PlanFolder(const Flags& flags) {
  if (flags.IsSet("plan-cache")) return flags.Text("plan-cache");
  const std::string cache = CacheFolder();
  return cache.empty() ? "" : cache + "/plans";
}

OverlapHalo ReadOverlapHalo(const Flags& flags) {
  const std::string& overlap = flags.Text("overlap-halo");
  return overlap == "on" ? OverlapHalo::kOn : overlap == "off" ? OverlapHalo::kOff : OverlapHalo::kAuto;
}

SessionOptions ReadRun(const Flags& flags, const MachineSpeed& speed) {
  SessionOptions options;
  options.speed = speed;
  options.threads_per_rank = static_cast<int>(flags.Int("threads"));
  options.memory_limit = flags.Int("memory");
  options.overlap_halo = ReadOverlapHalo(flags);
  if (flags.Text("device") == "cuda") options.device.gpu = GpuIndex(flags);
  options.device.replay = !flags.Bool("launch-each");
  options.device.warn = [](const std::string& what) { spdlog::warn("{}", what); };
  options.device.tell = [](const std::string& what) { spdlog::info("{}", what); };
  options.device.detail = [](const std::string& what) { spdlog::debug("{}", what); };
  return options;
}

void ReadAcceleration(const Flags& flags, DeviceOptions& device) {
  device.allow_tf32 = flags.Bool("tf32");
  device.deterministic = flags.Bool("deterministic");
  device.plan_folder = PlanFolder(flags);
}

}  // namespace

std::vector<std::string> AccelerationFlags() { return {"tf32", "deterministic", "plan-cache"}; }

std::vector<std::string> RunFlags() {
  return {"device",       "gpu",          "launch-each", "threads",       "memory",
          "bucket-bytes", "overlap-halo", "precision",   "verify-passes", "log"};
}

std::string GpuModelFor(const Flags& flags) {
  return flags.Has("device") && flags.Text("device") == "cuda" ? ModelOfGpu(GpuIndex(flags)) : "";
}

DType FloatingType(const Flags& flags) { return flags.Text("precision") == "f64" ? DType::kF64 : DType::kF32; }

ProgramOptions ReadProgramOptions(const Flags& flags, const MachineSpeed& speed) {
  ProgramOptions options;
  options.speed = speed;
  options.floating = FloatingType(flags);
  options.mix_precision = flags.Text("precision") == "bf16";
  options.for_gpu = flags.Text("device") == "cuda";
  if (flags.IsSet("bucket-bytes")) options.bucket_bytes = flags.Int("bucket-bytes");
  options.verify_passes = flags.Bool("verify-passes");
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

absl::StatusOr<Program> MakeProgramOf(const Flags& flags, const Model& model, const Strategy& strategy,
                                      const ProgramOptions& options) {
  ASSIGN_OR_RETURN(SetResults results, SetResultsOf(model));
  ProgramOptions reporting = options;
  reporting.evaluated = std::move(results.reported);
  absl::StatusOr<Program> program = MakeProgram(model, strategy, Ops(), reporting);
  if (program.ok()) return program;
  const std::string split = flags.IsSet("strategy") ? " with --strategy=" + flags.Text("strategy") : "";
  return WithContext(flags.arguments()[0] + split, program.status());
}

SessionOptions ReadSessionOptions(const Flags& flags, const MachineSpeed& speed) {
  SessionOptions options = ReadExactSessionOptions(flags, speed);
  ReadAcceleration(flags, options.device);
  return options;
}

SessionOptions ReadExactSessionOptions(const Flags& flags, const MachineSpeed& speed) {
  SessionOptions options = ReadRun(flags, speed);
  options.seed = static_cast<uint64_t>(flags.Int("seed"));
  if (flags.Int("delay-seed") > 0) options.tests.delay_seed = static_cast<uint64_t>(flags.Int("delay-seed"));
  return options;
}

SessionOptions ReadPlanOptions(const Flags& flags, const MachineSpeed& speed) {
  SessionOptions options = ReadRun(flags, speed);
  ReadAcceleration(flags, options.device);
  return options;
}

absl::Status CheckAcceleration(const Flags& flags) {
  if (!flags.Bool("tf32") || flags.Text("device") == "cuda") return absl::OkStatus();
  return FlagError("flag --tf32 needs --device=cuda; the host computes f32 in f32");
}

absl::Status CheckDevice(const Flags& flags) {
  if (flags.Text("device") != "cuda") {
    const bool chosen = flags.Int("gpu") >= 0;
    if (!chosen && !flags.Bool("launch-each")) return absl::OkStatus();
    return FlagError("flag --{} needs --device=cuda", chosen ? "gpu" : "launch-each");
  }
  if (!flags.Has("deterministic") || flags.Bool("deterministic")) ExcludeNvls();
  SessionOptions options;
  options.device.gpu = GpuIndex(flags);
  const absl::Status opened = OpenGpu(options).status();
  if (absl::IsInvalidArgument(opened)) return FlagError("flag --gpu: {}", std::string(opened.message()));
  return AsNoDevice(opened);
}

absl::Status SetUpLogging(const Flags& flags) {
  const std::string& level = flags.Text("log");
  return SetUpLog(level == "warning" ? "warn" : level);
}

}  // namespace partita
