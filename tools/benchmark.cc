// The benchmarks: one line for each.
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <iostream>

#include "run/plan/machine.h"
#include "runtime/api/backend/gpu.h"
#include "runtime/base/files.h"
#include "runtime/train/sharded/write_checkpoint.h"
#include "tools/benchmarks/allocation_count.h"
#include "tools/benchmarks/benchmark.pb.h"
#include "tools/benchmarks/built_files.h"
#include "tools/benchmarks/chaos/chaos_benchmark.h"
#include "tools/benchmarks/comm/comm_benchmark.h"
#include "tools/benchmarks/compile_benchmark.h"
#include "tools/benchmarks/decode/decode_benchmark.h"
#include "tools/benchmarks/executor_benchmark.h"
#include "tools/benchmarks/halo_benchmark.h"
#include "tools/benchmarks/kernels/kernel_benchmark.h"
#include "tools/benchmarks/library/library_benchmark.h"
#include "tools/benchmarks/models/measured_models.h"
#include "tools/benchmarks/models/model_sizes.h"
#include "tools/benchmarks/models/models_command.h"
#include "tools/benchmarks/oracle/oracle_command.h"
#include "tools/benchmarks/search/found_plans.h"
#include "tools/benchmarks/search/search_benchmark.h"
#include "tools/benchmarks/simulate_benchmark.h"
#include "tools/benchmarks/train/checkpoint_benchmark.h"
#include "tools/benchmarks/train/large_checkpoint.h"
#include "tools/benchmarks/train/train_benchmark.h"
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
// Of `benchmark plans`: a model, and the folder of its strategies by hand.
constexpr struct {
  const char* model;
  const char* strategies;
} kPlannedModels[] = {{"gpt2", "tools/models/examples/gpt2"},
                      {"bert-base", "tools/models/examples/bert_base"},
                      {"vit-b-16", "tools/models/examples/vit_b_16"}};
constexpr char kExamples[] = "tools/models/examples/";
constexpr char kPeerScript[] = "tools/peer/train.py";
constexpr char kDecodePeerScript[] = "tools/peer/decode.py";

absl::StatusOr<std::string> TrainerPath(const BenchmarkSpec& spec) {
  return spec.has_trainer() ? spec.trainer() : BuiltFile(kTrainer);
}

absl::StatusOr<std::string> ExampleOf(std::string model) {
  std::ranges::replace(model, '-', '_');
  return BuiltFile(kExamples + model + ".pbtxt");
}

// Whether the GPU of --device=cuda can be had: said before anything is measured.
absl::Status CheckDevice(const BenchmarkSpec& spec) {
  if (spec.device() != "cuda") return absl::OkStatus();
  SessionOptions options;
  options.device.gpu = 0;
  return AsNoDevice(OpenGpu(options).status());
}

absl::StatusOr<int> RunDecode(const ContextOf<BenchmarkSpec>& context) {
  const BenchmarkSpec& spec = context.spec;
  DecodeBenchmarkOptions options;
  options.folder = spec.data();
  options.rounds = spec.rounds();
  if (spec.has_batch()) options.pictures = spec.batch();
  if (spec.has_image_size()) options.size = spec.image_size();
  const std::string& peer = spec.peer();
  if (peer != "none") {
    ASSIGN_OR_RETURN(const std::string script, BuiltFile(kDecodePeerScript));
    options.peer_command = {PeerPython(spec.peer_python()), script};
  }
  if (peer == "torchvision") options.peer_command.push_back("--torchvision");
  ASSIGN_OR_RETURN(const std::vector<DecodeRow> rows, BenchmarkDecode(options));
  context.out << (spec.format() == "json" ? ToJson(rows) : ToText(rows));
  return kExitFinished;
}

absl::StatusOr<int> RunExecutor(const ContextOf<BenchmarkSpec>& context) {
  ExecutorBenchmarkOptions options;
  options.rounds = static_cast<int>(context.spec.rounds());
  options.allocations = AllocationCount;
  ASSIGN_OR_RETURN(const std::vector<ExecutorRow> rows, BenchmarkExecutor(options));
  context.out << (context.spec.format() == "json" ? ToJson(rows) : ToText(rows));
  return kExitFinished;
}

absl::StatusOr<int> RunComm(const ContextOf<BenchmarkSpec>& context) {
  RETURN_IF_ERROR(CheckDevice(context.spec));
  CommBenchmarkOptions options;
  options.ranks = static_cast<int>(context.spec.ranks());
  options.rounds = static_cast<int>(context.spec.rounds());
  if (context.spec.collective() != "all") options.collective = context.spec.collective();
  options.cuda = context.spec.device() == "cuda";
  if (context.spec.has_bytes()) options.bytes = {context.spec.bytes()};
  ASSIGN_OR_RETURN(const std::vector<CommRow> rows, BenchmarkComm(options));
  context.out << (context.spec.format() == "json" ? ToJson(rows) : ToText(rows));
  return kExitFinished;
}

absl::StatusOr<int> RunHalo(const ContextOf<BenchmarkSpec>& context) {
  const BenchmarkSpec& spec = context.spec;
  HaloBenchmarkOptions options;
  options.model = spec.model();
  if (spec.has_batch()) options.batch = spec.batch();
  options.ranks = static_cast<int>(spec.ranks());
  if (spec.has_steps()) options.steps = spec.steps();
  options.seconds = spec.seconds();
  options.rounds = spec.rounds();
  ASSIGN_OR_RETURN(const std::vector<HaloRow> rows, BenchmarkHalo(options));
  context.out << (spec.format() == "json" ? ToJson(rows) : ToText(rows));
  return kExitFinished;
}

absl::StatusOr<int> RunFaults(const ContextOf<BenchmarkSpec>& context) {
  const BenchmarkSpec& spec = context.spec;
  ASSIGN_OR_RETURN(const std::string script, BuiltFile(kFaultScript));
  ASSIGN_OR_RETURN(const std::string trainer, TrainerPath(spec));
  ASSIGN_OR_RETURN(const std::string graph, ExampleOf("mlp"));
  const std::string command =
      fmt::format("python3 '{}' --trainer='{}' --graph='{}' --ranks={} --kills={} --stops={} --seed={}", script,
                  trainer, graph, spec.ranks(), spec.kills(), spec.stops(), spec.seed());
  context.out << std::flush;
  return std::system(command.c_str()) == 0 ? kExitFinished : kExitVerification;
}

absl::StatusOr<int> RunChaos(const ContextOf<BenchmarkSpec>& context) {
  const BenchmarkSpec& spec = context.spec;
  ChaosOptions options;
  ASSIGN_OR_RETURN(options.jobs.script, BuiltFile(kChaosScript));
  ASSIGN_OR_RETURN(options.jobs.trainer, TrainerPath(spec));
  ASSIGN_OR_RETURN(options.jobs.graph, ExampleOf("lenet5"));
  if (spec.has_kills()) options.jobs.kills = spec.kills();
  options.jobs.seed = spec.seed();
  options.save_faults = spec.save_faults();
  options.flips = spec.flips();
  ASSIGN_OR_RETURN(const ChaosResult result, BenchmarkChaos(options));
  context.out << (spec.format() == "json" ? ToJson(result) : ToText(result));
  return result.breaches.empty() ? kExitFinished : kExitVerification;
}

absl::StatusOr<int> RunLargeCheckpoint(const ContextOf<BenchmarkSpec>& context, const std::string& folder) {
  LargeCheckpointOptions options;
  options.state_bytes = context.spec.states() << 20;
  options.threads = static_cast<int>(context.spec.threads());
  options.folder = folder;
  ASSIGN_OR_RETURN(const LargeCheckpoint measured, MeasureLargeCheckpoint(options));
  context.out << (context.spec.format() == "json" ? ToJson(measured) : ToText(measured));
  return measured.same && measured.fits() ? kExitFinished : kExitVerification;
}

absl::StatusOr<int> RunCheckpoint(const ContextOf<BenchmarkSpec>& context) {
  const BenchmarkSpec& spec = context.spec;
  CheckpointBenchmarkOptions options;
  options.model = spec.model();
  options.batch = spec.batch();
  options.threads = static_cast<int>(spec.threads());
  if (spec.has_steps()) options.steps = spec.steps();
  options.rounds = spec.rounds();
  options.folder = spec.has_folder() ? spec.folder() : std::filesystem::temp_directory_path().string();
  if (spec.has_states()) return RunLargeCheckpoint(context, options.folder);
  if (options.steps <= 2 * kStepsBeside) {
    return FlagError("flag --steps is {}, a checkpoint takes more than {}", options.steps, 2 * kStepsBeside);
  }
  ASSIGN_OR_RETURN(const std::vector<CheckpointRow> rows, BenchmarkCheckpoint(options));
  context.out << (spec.format() == "json" ? ToJson(rows) : ToText(rows));
  return kExitFinished;
}

absl::StatusOr<int> RunTrain(const ContextOf<BenchmarkSpec>& context) {
  const BenchmarkSpec& spec = context.spec;
  TrainBenchmarkOptions options;
  options.model = spec.model();
  options.batch = spec.batch();
  options.steps = spec.steps();
  options.rounds = spec.rounds();
  options.strategy = spec.strategy();
  options.mix_precision = spec.precision() == "bf16";
  const bool ours = options.model == "mini-inception";
  if (ours && !spec.has_strategy()) {
    ASSIGN_OR_RETURN(options.strategy, BuiltFile(kHybrid));
  }
  if (spec.peer() == "pytorch") {
    if (!ours) return FlagError("flag --peer is pytorch, which has mini-inception only; --model is {}", options.model);
    options.peer = "pytorch";
    ASSIGN_OR_RETURN(const std::string script, BuiltFile(kPeerScript));
    options.peer_command = {PeerPython(spec.peer_python()), script};
  }
  if (spec.has_report()) {
    ASSIGN_OR_RETURN(options.trainer, TrainerPath(spec));
    ASSIGN_OR_RETURN(options.graph, ExampleOf(options.model));
  }
  ASSIGN_OR_RETURN(options.machine, ReadMachine(MachineFor(spec), /*processes=*/false));
  ASSIGN_OR_RETURN(const std::vector<TrainRow> rows, BenchmarkTrain(options));
  for (const TrainRow& row : rows) RETURN_IF_ERROR(KeepRuns({row.graded}, spec.history()));
  if (spec.has_report()) RETURN_IF_ERROR(WriteFileAtomically(spec.report(), ToJson(rows)));
  context.out << (spec.format() == "json" ? ToJson(rows) : ToText(rows));
  return kExitFinished;
}

absl::StatusOr<int> RunModelsOnDevice(const ContextOf<BenchmarkSpec>& context) {
  RETURN_IF_ERROR(CheckDevice(context.spec));
  return RunModels(context);
}

absl::StatusOr<int> RunKernels(const ContextOf<BenchmarkSpec>& context) {
  RETURN_IF_ERROR(CheckDevice(context.spec));
  SessionOptions options;
  options.threads_per_rank = static_cast<int>(context.spec.threads());
  if (context.spec.device() == "cuda") options.device.gpu = 0;
  ASSIGN_OR_RETURN(const KernelTarget target, OpenTarget(options));
  ASSIGN_OR_RETURN(const std::vector<KernelRow> rows,
                   BenchmarkKernels(target, static_cast<int>(context.spec.rounds())));
  context.out << (context.spec.format() == "json" ? ToJson(rows) : ToText(rows));
  return kExitFinished;
}

absl::StatusOr<int> RunCompile(const ContextOf<BenchmarkSpec>& context) {
  CompileBenchmarkOptions options;
  options.rounds = static_cast<int>(context.spec.rounds());
  if (context.spec.has_nodes()) {
    options.cases = {{context.spec.nodes(), static_cast<int>(context.spec.dp()), static_cast<int>(context.spec.mp())}};
  }
  ASSIGN_OR_RETURN(const std::vector<CompileRow> rows, BenchmarkCompile(options));
  const std::string& format = context.spec.format();
  context.out << (format == "json" ? ToJson(rows) : format == "csv" ? ToCsv(rows) : ToText(rows));
  return kExitFinished;
}

absl::StatusOr<int> RunSearch(const ContextOf<BenchmarkSpec>& context) {
  const BenchmarkSpec& spec = context.spec;
  SearchBenchmarkOptions options;
  if (spec.has_model()) options.models = {spec.model()};
  if (spec.has_ranks()) options.most_ranks = static_cast<int>(spec.ranks());
  if (spec.has_rounds()) options.rounds = static_cast<int>(spec.rounds());
  if (const std::optional<SearchKind> one = FindSearch(spec.search())) options.searches = {*one};
  if (spec.has_memory()) options.memory_bytes = spec.memory();
  ASSIGN_OR_RETURN(const std::vector<SearchRow> rows, BenchmarkSearch(options));
  context.out << (spec.format() == "json" ? ToJson(rows) : ToText(rows));
  return kExitFinished;
}

absl::StatusOr<int> RunPlans(const ContextOf<BenchmarkSpec>& context) {
  const BenchmarkSpec& spec = context.spec;
  const auto planned = spec.has_model() ? std::ranges::find(kPlannedModels, spec.model(),
                                                            [](const auto& one) { return std::string(one.model); })
                                        : std::begin(kPlannedModels);
  FoundPlansOptions options;
  MeasuredModel sizes = MeasuredModelOf(planned->model);
  if (sizes.name == "gpt2") sizes.length = 1024;
  options.make = [sizes](int64_t batch) mutable {
    sizes.batch = batch;
    return MakeMeasuredModel(sizes);
  };
  if (spec.has_ranks()) options.ranks = {static_cast<int>(spec.ranks())};
  if (spec.has_batch()) options.batch = spec.batch();
  options.mix_precision = spec.precision() == "bf16";
  ASSIGN_OR_RETURN(options.examples, BuiltFile(planned->strategies));
  ASSIGN_OR_RETURN(const std::vector<FoundPlansRow> rows, FindPlans(options));
  context.out << (spec.format() == "json" ? ToJson(rows) : ToText(rows));
  return kExitFinished;
}

absl::StatusOr<int> RunSimulate(const ContextOf<BenchmarkSpec>& context) {
  SimulateBenchmarkOptions options;
  options.rounds = static_cast<int>(context.spec.rounds());
  ASSIGN_OR_RETURN(const std::vector<SimulateRow> rows, BenchmarkSimulate(options));
  context.out << (context.spec.format() == "json" ? ToJson(rows) : ToText(rows));
  return kExitFinished;
}

absl::StatusOr<int> RunLibrary(const ContextOf<BenchmarkSpec>& context) {
  const BenchmarkSpec& spec = context.spec;
  LibraryBenchmarkOptions options;
  if (spec.has_model()) options.models = {spec.model()};
  options.batch = spec.batch();
  options.steps = spec.steps();
  options.rounds = spec.rounds();
  ASSIGN_OR_RETURN(const std::vector<LibraryRow> rows, BenchmarkLibrary(options));
  context.out << (spec.format() == "json" ? ToJson(rows) : ToText(rows));
  return kExitFinished;
}

// That a command can be asked for.
std::vector<std::string> ModelsOf(const std::string& command) {
  if (command == "train" || command == "library") return {"mini-inception", "lenet5", "mlp"};
  if (command == "oracle") return OracleModelNames();
  if (command == "plans") {
    std::vector<std::string> names;
    for (const auto& planned : kPlannedModels) names.emplace_back(planned.model);
    return names;
  }
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
      BenchmarkSpec::default_instance(),
      {
          {"comm", "measure every collective among threads and processes, compared with Gloo and plain copies", "",
           Runs<BenchmarkSpec>(RunComm)},
          {"faults", "kill and stop ranks of real jobs and measure how soon the others exit", "",
           Runs<BenchmarkSpec>(RunFaults)},
          {"chaos", "check recovery: kill and stop jobs, fill the disk, fail saves, damage files", "",
           Runs<BenchmarkSpec>(RunChaos)},
          {"checkpoint", "measure how checkpoints slow concurrent steps, and their memory", "",
           Runs<BenchmarkSpec>(RunCheckpoint)},
          {"decode", "measure pictures decoded and scaled by one core, compared with Pillow or torchvision", "",
           Runs<BenchmarkSpec>(RunDecode)},
          {"executor", "measure the executor's overhead per node", "", Runs<BenchmarkSpec>(RunExecutor)},
          {"halo", "measure how much of a halo exchange the interior's computation hides", "",
           Runs<BenchmarkSpec>(RunHalo)},
          {"kernels", "measure each kernel as a share of the device's peak", "", Runs<BenchmarkSpec>(RunKernels)},
          {"library", "measure what a step and a prediction cost by the library's interfaces", "",
           Runs<BenchmarkSpec>(RunLibrary)},
          {"models",
           "measure training throughput and memory of models in each precision, compared with another framework", "",
           Runs<BenchmarkSpec>(RunModelsOnDevice)},
          {"loop", "train one session as standard input says (started by models)", "", Runs<BenchmarkSpec>(RunLoop)},
          {"compile", "measure partitioning, scheduling and proofs per node", "", Runs<BenchmarkSpec>(RunCompile)},
          {"oracle", "compare predicted with measured steps, and the predicted with the measured order of plans", "",
           Runs<BenchmarkSpec>(RunOracle)},
          {"search", "measure each strategy search by layers and ranks, and the share of building its tables", "",
           Runs<BenchmarkSpec>(RunSearch)},
          {"plans", "compare plans that searches find for a transformer on shipped clusters with plans by hand", "",
           Runs<BenchmarkSpec>(RunPlans)},
          {"simulate", "measure simulating a step of up to 4,096 ranks", "", Runs<BenchmarkSpec>(RunSimulate)},
          {"train", "measure training throughput, alone and compared with another framework", "",
           Runs<BenchmarkSpec>(RunTrain)},
      },
  };
  for (Command& command : benchmark.commands) {
    if (command.name != "compile") command.choices = {{"format", {"text", "json"}}};
    command.choices["peer"] = {"none", "pytorch"};
    command.choices["model"] = ModelsOf(command.name);
    if (command.name == "train" || command.name == "plans") command.choices["precision"] = {"f32", "bf16"};
    if (command.name == "decode") command.choices["peer"] = {"none", "pillow", "torchvision"};
  }
  return RunMain(benchmark, argc, argv);
}
