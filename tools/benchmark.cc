// The benchmarks: one line for each.
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <iostream>

#include "runtime/api/backend/gpu.h"
#include "runtime/base/files.h"
#include "runtime/train/sharded/write_checkpoint.h"
#include "tools/benchmark_flags.h"
#include "tools/benchmarks/allocation_count.h"
#include "tools/benchmarks/built_files.h"
#include "tools/benchmarks/chaos/chaos_benchmark.h"
#include "tools/benchmarks/comm/comm_benchmark.h"
#include "tools/benchmarks/compile_benchmark.h"
#include "tools/benchmarks/decode/decode_benchmark.h"
#include "tools/benchmarks/executor_benchmark.h"
#include "tools/benchmarks/halo_benchmark.h"
#include "tools/benchmarks/kernels/kernel_benchmark.h"
#include "tools/benchmarks/models/measured_models.h"
#include "tools/benchmarks/models/models_command.h"
#include "tools/benchmarks/oracle/oracle_command.h"
#include "tools/benchmarks/search/search_benchmark.h"
#include "tools/benchmarks/simulate_benchmark.h"
#include "tools/benchmarks/train/checkpoint_benchmark.h"
#include "tools/benchmarks/train/large_checkpoint.h"
#include "tools/benchmarks/train/train_benchmark.h"
#include "tools/commands/input/machine.h"
#include "tools/commands/oracle/graded_training.h"
#include "tools/models/models.h"
#include "tools/program/exit_code.h"
#include "tools/program/run_main.h"
#include "tools/program/start/clean_start.h"

namespace partita {
namespace {

// In the repository, and what was built of it (BuiltFile).
constexpr char kHybrid[] = "tools/models/examples/mini_inception_2x2.pbtxt";
constexpr char kFaultScript[] = "tools/faults/run.py";
constexpr char kChaosScript[] = "tools/faults/chaos.py";
constexpr char kTrainer[] = "tools/trainer";
constexpr char kExamples[] = "tools/models/examples/";
constexpr char kPeerScript[] = "tools/peer/train.py";
constexpr char kDecodePeerScript[] = "tools/peer/decode.py";

absl::StatusOr<std::string> TrainerPath(const Flags& flags) {
  return flags.IsSet("trainer") ? flags.Text("trainer") : BuiltFile(kTrainer);
}

absl::StatusOr<std::string> ExampleOf(std::string model) {
  std::ranges::replace(model, '-', '_');
  return BuiltFile(kExamples + model + ".pbtxt");
}

// Whether the GPU of --device=cuda can be had: said before anything is measured.
absl::Status CheckDevice(const Flags& flags) {
  if (flags.Text("device") != "cuda") return absl::OkStatus();
  SessionOptions options;
  options.device.gpu = 0;
  return AsNoDevice(OpenGpu(options).status());
}

absl::StatusOr<int> RunDecode(const CommandContext& context) {
  const Flags& flags = context.flags;
  DecodeBenchmarkOptions options;
  options.folder = flags.Text("data");
  options.rounds = flags.Int("rounds");
  if (flags.Given("batch")) options.pictures = flags.Int("batch");
  if (flags.Given("image-size")) options.size = flags.Int("image-size");
  const std::string& peer = flags.Text("peer");
  if (peer != "none") {
    ASSIGN_OR_RETURN(const std::string script, BuiltFile(kDecodePeerScript));
    options.peer_command = {PeerPython(flags.Text("peer-python")), script};
  }
  if (peer == "torchvision") options.peer_command.push_back("--torchvision");
  ASSIGN_OR_RETURN(const std::vector<DecodeRow> rows, BenchmarkDecode(options));
  context.out << (flags.Text("format") == "json" ? ToJson(rows) : ToText(rows));
  return kExitFinished;
}

absl::StatusOr<int> RunExecutor(const CommandContext& context) {
  ExecutorBenchmarkOptions options;
  options.rounds = static_cast<int>(context.flags.Int("rounds"));
  options.allocations = AllocationCount;
  ASSIGN_OR_RETURN(const std::vector<ExecutorRow> rows, BenchmarkExecutor(options));
  context.out << (context.flags.Text("format") == "json" ? ToJson(rows) : ToText(rows));
  return kExitFinished;
}

absl::StatusOr<int> RunComm(const CommandContext& context) {
  RETURN_IF_ERROR(CheckDevice(context.flags));
  CommBenchmarkOptions options;
  options.ranks = static_cast<int>(context.flags.Int("ranks"));
  options.rounds = static_cast<int>(context.flags.Int("rounds"));
  if (context.flags.Text("collective") != "all") options.collective = context.flags.Text("collective");
  options.cuda = context.flags.Text("device") == "cuda";
  if (context.flags.IsSet("bytes")) options.bytes = {context.flags.Int("bytes")};
  ASSIGN_OR_RETURN(const std::vector<CommRow> rows, BenchmarkComm(options));
  context.out << (context.flags.Text("format") == "json" ? ToJson(rows) : ToText(rows));
  return kExitFinished;
}

absl::StatusOr<int> RunHalo(const CommandContext& context) {
  const Flags& flags = context.flags;
  HaloBenchmarkOptions options;
  options.model = flags.Text("model");
  if (flags.Given("batch")) options.batch = flags.Int("batch");
  options.ranks = static_cast<int>(flags.Int("ranks"));
  if (flags.Given("steps")) options.steps = flags.Int("steps");
  options.seconds = flags.Float("seconds");
  options.rounds = flags.Int("rounds");
  ASSIGN_OR_RETURN(const std::vector<HaloRow> rows, BenchmarkHalo(options));
  context.out << (flags.Text("format") == "json" ? ToJson(rows) : ToText(rows));
  return kExitFinished;
}

absl::StatusOr<int> RunFaults(const CommandContext& context) {
  const Flags& flags = context.flags;
  ASSIGN_OR_RETURN(const std::string script, BuiltFile(kFaultScript));
  ASSIGN_OR_RETURN(const std::string trainer, TrainerPath(flags));
  ASSIGN_OR_RETURN(const std::string graph, ExampleOf("mlp"));
  const std::string command =
      fmt::format("python3 '{}' --trainer='{}' --graph='{}' --ranks={} --kills={} --stops={} --seed={}", script,
                  trainer, graph, flags.Int("ranks"), flags.Int("kills"), flags.Int("stops"), flags.Int("seed"));
  context.out << std::flush;
  return std::system(command.c_str()) == 0 ? kExitFinished : kExitVerification;
}

absl::StatusOr<int> RunChaos(const CommandContext& context) {
  const Flags& flags = context.flags;
  ChaosOptions options;
  ASSIGN_OR_RETURN(options.jobs.script, BuiltFile(kChaosScript));
  ASSIGN_OR_RETURN(options.jobs.trainer, TrainerPath(flags));
  ASSIGN_OR_RETURN(options.jobs.graph, ExampleOf("lenet5"));
  if (flags.Given("kills")) options.jobs.kills = flags.Int("kills");
  options.jobs.seed = flags.Int("seed");
  options.save_faults = flags.Int("save-faults");
  options.flips = flags.Int("flips");
  ASSIGN_OR_RETURN(const ChaosResult result, BenchmarkChaos(options));
  context.out << (flags.Text("format") == "json" ? ToJson(result) : ToText(result));
  return result.breaches.empty() ? kExitFinished : kExitVerification;
}

absl::StatusOr<int> RunLargeCheckpoint(const CommandContext& context, const std::string& folder) {
  LargeCheckpointOptions options;
  options.state_bytes = context.flags.Int("states") << 20;
  options.threads = static_cast<int>(context.flags.Int("threads"));
  options.folder = folder;
  ASSIGN_OR_RETURN(const LargeCheckpoint measured, MeasureLargeCheckpoint(options));
  context.out << (context.flags.Text("format") == "json" ? ToJson(measured) : ToText(measured));
  return measured.same && measured.fits() ? kExitFinished : kExitVerification;
}

absl::StatusOr<int> RunCheckpoint(const CommandContext& context) {
  const Flags& flags = context.flags;
  CheckpointBenchmarkOptions options;
  options.model = flags.Text("model");
  options.batch = flags.Int("batch");
  options.threads = static_cast<int>(flags.Int("threads"));
  if (flags.Given("steps")) options.steps = flags.Int("steps");
  options.rounds = flags.Int("rounds");
  options.folder = flags.IsSet("folder") ? flags.Text("folder") : std::filesystem::temp_directory_path().string();
  if (flags.IsSet("states")) return RunLargeCheckpoint(context, options.folder);
  if (options.steps <= 2 * kStepsBeside) {
    return FlagError("flag --steps is {}, a checkpoint takes more than {}", options.steps, 2 * kStepsBeside);
  }
  ASSIGN_OR_RETURN(const std::vector<CheckpointRow> rows, BenchmarkCheckpoint(options));
  context.out << (flags.Text("format") == "json" ? ToJson(rows) : ToText(rows));
  return kExitFinished;
}

absl::StatusOr<int> RunTrain(const CommandContext& context) {
  const Flags& flags = context.flags;
  TrainBenchmarkOptions options;
  options.model = flags.Text("model");
  options.batch = flags.Int("batch");
  options.steps = flags.Int("steps");
  options.rounds = flags.Int("rounds");
  options.strategy = flags.Text("strategy");
  options.mix_precision = flags.Text("precision") == "bf16";
  const bool ours = options.model == "mini-inception";
  if (ours && !flags.IsSet("strategy")) {
    ASSIGN_OR_RETURN(options.strategy, BuiltFile(kHybrid));
  }
  if (flags.Text("peer") == "pytorch") {
    if (!ours) return FlagError("flag --peer is pytorch, which has mini-inception only; --model is {}", options.model);
    options.peer = "pytorch";
    ASSIGN_OR_RETURN(const std::string script, BuiltFile(kPeerScript));
    options.peer_command = {PeerPython(flags.Text("peer-python")), script};
  }
  if (flags.IsSet("report")) {
    ASSIGN_OR_RETURN(options.trainer, TrainerPath(flags));
    ASSIGN_OR_RETURN(options.graph, ExampleOf(options.model));
  }
  ASSIGN_OR_RETURN(options.machine, ReadMachine(flags, /*processes=*/false));
  ASSIGN_OR_RETURN(const std::vector<TrainRow> rows, BenchmarkTrain(options));
  for (const TrainRow& row : rows) RETURN_IF_ERROR(KeepRuns({row.graded}, flags));
  if (flags.IsSet("report")) RETURN_IF_ERROR(WriteFileAtomically(flags.Text("report"), ToJson(rows)));
  context.out << (flags.Text("format") == "json" ? ToJson(rows) : ToText(rows));
  return kExitFinished;
}

absl::StatusOr<int> RunModelsOnDevice(const CommandContext& context) {
  RETURN_IF_ERROR(CheckDevice(context.flags));
  return RunModels(context);
}

absl::StatusOr<int> RunKernels(const CommandContext& context) {
  RETURN_IF_ERROR(CheckDevice(context.flags));
  SessionOptions options;
  options.threads_per_rank = static_cast<int>(context.flags.Int("threads"));
  if (context.flags.Text("device") == "cuda") options.device.gpu = 0;
  ASSIGN_OR_RETURN(const KernelTarget target, OpenTarget(options));
  ASSIGN_OR_RETURN(const std::vector<KernelRow> rows,
                   BenchmarkKernels(target, static_cast<int>(context.flags.Int("rounds"))));
  context.out << (context.flags.Text("format") == "json" ? ToJson(rows) : ToText(rows));
  return kExitFinished;
}

absl::StatusOr<int> RunCompile(const CommandContext& context) {
  CompileBenchmarkOptions options;
  options.rounds = static_cast<int>(context.flags.Int("rounds"));
  if (context.flags.IsSet("nodes")) {
    options.cases = {{context.flags.Int("nodes"), static_cast<int>(context.flags.Int("dp")),
                      static_cast<int>(context.flags.Int("mp"))}};
  }
  ASSIGN_OR_RETURN(const std::vector<CompileRow> rows, BenchmarkCompile(options));
  const std::string& format = context.flags.Text("format");
  context.out << (format == "json" ? ToJson(rows) : format == "csv" ? ToCsv(rows) : ToText(rows));
  return kExitFinished;
}

absl::StatusOr<int> RunSearch(const CommandContext& context) {
  const Flags& flags = context.flags;
  SearchBenchmarkOptions options;
  if (flags.Given("model")) options.models = {flags.Text("model")};
  if (flags.Given("ranks")) options.most_ranks = static_cast<int>(flags.Int("ranks"));
  if (flags.Given("rounds")) options.rounds = static_cast<int>(flags.Int("rounds"));
  if (const std::optional<SearchKind> one = FindSearch(flags.Text("search"))) options.searches = {*one};
  if (flags.IsSet("memory")) options.memory_bytes = flags.Int("memory");
  ASSIGN_OR_RETURN(const std::vector<SearchRow> rows, BenchmarkSearch(options));
  context.out << (flags.Text("format") == "json" ? ToJson(rows) : ToText(rows));
  return kExitFinished;
}

absl::StatusOr<int> RunSimulate(const CommandContext& context) {
  SimulateBenchmarkOptions options;
  options.rounds = static_cast<int>(context.flags.Int("rounds"));
  ASSIGN_OR_RETURN(const std::vector<SimulateRow> rows, BenchmarkSimulate(options));
  context.out << (context.flags.Text("format") == "json" ? ToJson(rows) : ToText(rows));
  return kExitFinished;
}

// That a command can be asked for.
std::vector<std::string> ModelsOf(const std::string& command) {
  if (command == "train") return {"mini-inception", "lenet5", "mlp"};
  if (command == "oracle") return OracleModelNames();
  return command == "models" || command == "loop" ? MeasuredModelNames() : ModelNames();
}

}  // namespace
}  // namespace partita

int main(int argc, char** argv) {
  using namespace partita;
  StartClean(argv);
  ProgramDefinition benchmark = {
      "benchmark",
      "measure Partita's speed as ratios",
      BenchmarkFlags(),
      {
          {"comm",
           "measure every collective among threads and processes, compared with Gloo and plain copies",
           "",
           {"format", "rounds", "ranks", "collective", "bytes", "device"},
           RunComm},
          {"faults",
           "kill and stop ranks of real jobs and measure how soon the others exit",
           "",
           {"ranks", "kills", "stops", "seed", "trainer"},
           RunFaults},
          {"chaos",
           "check recovery: kill and stop jobs, fill the disk, fail saves, damage files",
           "",
           {"format", "kills", "save-faults", "flips", "seed", "trainer"},
           RunChaos},
          {"checkpoint",
           "measure how checkpoints slow concurrent steps, and their memory",
           "",
           {"format", "rounds", "steps", "batch", "model", "threads", "folder", "states"},
           RunCheckpoint},
          {"decode",
           "measure pictures decoded and scaled by one core, compared with Pillow or torchvision",
           "",
           {"format", "rounds", "batch", "data", "image-size", "peer", "peer-python"},
           RunDecode},
          {"executor", "measure the executor's overhead per node", "", {"format", "rounds"}, RunExecutor},
          {"halo",
           "measure how much of a halo exchange the interior's computation hides",
           "",
           {"format", "rounds", "steps", "seconds", "batch", "model", "ranks"},
           RunHalo},
          {"kernels",
           "measure each kernel as a share of the device's peak",
           "",
           {"format", "rounds", "device", "threads"},
           RunKernels},
          {"models",
           "measure training throughput and memory of models in each precision, compared with another framework", "",
           ModelsFlags(), RunModelsOnDevice},
          {"loop", "train one session as standard input says (started by models)", "", LoopCommandFlags(), RunLoop},
          {"compile",
           "measure partitioning, scheduling and proofs per node",
           "",
           {"format", "rounds", "nodes", "dp", "mp"},
           RunCompile},
          {"oracle", "compare predicted with measured steps, and the predicted with the measured order of plans", "",
           OracleFlags(), RunOracle},
          {"search",
           "measure each strategy search by layers and ranks, and the share of building its tables",
           "",
           {"format", "rounds", "model", "ranks", "search", "memory"},
           RunSearch},
          {"simulate", "measure simulating a step of up to 4,096 ranks", "", {"format", "rounds"}, RunSimulate},
          {"train",
           "measure training throughput, alone and compared with another framework",
           "",
           {"format", "rounds", "steps", "batch", "model", "precision", "peer", "peer-python", "strategy", "report",
            "trainer", "cluster", "profile", "history"},
           RunTrain},
      },
  };
  for (Command& command : benchmark.commands) {
    if (command.name != "compile") command.choices = {{"format", {"text", "json"}}};
    command.choices["peer"] = {"none", "pytorch"};
    command.choices["model"] = ModelsOf(command.name);
    if (command.name == "train") command.choices["precision"] = {"f32", "bf16"};
    if (command.name == "decode") command.choices["peer"] = {"none", "pillow", "torchvision"};
  }
  return RunMain(benchmark, argc, argv);
}
