// The benchmarks: one line for each.
#include <cstdlib>
#include <iostream>

#include "tools/benchmarks/allocation_count.h"
#include "tools/benchmarks/compile_benchmark.h"
#include "tools/benchmarks/executor_benchmark.h"
#include "tools/benchmarks/kernel_benchmark.h"
#include "tools/benchmarks/train_benchmark.h"
#include "tools/exit_code.h"
#include "tools/passive_threads.h"
#include "tools/program.h"

namespace partita {
namespace {

// Under `bazel run` these lie in the folder that the program is started in; else start it in the repository.
constexpr char kHybrid[] = "tools/models/examples/mini_inception_2x2.pbtxt";
constexpr char kPeerScript[] = "tools/peer/train.py";

std::vector<FlagDefinition> BenchmarkFlags() {
  return {
      ChoiceFlag("format", "text", {"text", "json", "csv"}, "of the rows on standard output; csv of compile only"),
      IntFlag("rounds", "7", 1, 1000, "all cases are run in turns, so many times"),
      IntFlag("steps", "20", 1, 1'000'000, "training steps of a case in one round"),
      IntFlag("nodes", "", 10, 10'000'000, "compile: one case alone, a program of about so many nodes"),
      IntFlag("dp", "2", 1, 4096, "compile: replicas of the model in that case"),
      IntFlag("mp", "2", 1, 4096, "compile: ranks of a worker group in that case"),
      IntFlag("batch", "64", 1, 1 << 20, "global batch"),
      ChoiceFlag("model", "mini-inception", {"mini-inception", "lenet5", "mlp"}, "what is trained"),
      ChoiceFlag("peer", "none", {"none", "pytorch"}, "what is trained beside ours; see tools/peer/install"),
      ChoiceFlag("device", "host", {"host", "cuda"}, "whose kernels are measured"),
      IntFlag("threads", "2", 1, 1024, "of the host's kernels"),
      PathFlag("strategy", "of the hybrid; unset: the shipped 2 x 2 one for mini-inception, none for others"),
  };
}

// The environment that tools/peer/install makes.
std::string PeerPython() {
  const char* const home = std::getenv("HOME");
  return std::string(home == nullptr ? "" : home) + "/.cache/partita/peer/bin/python";
}

absl::Status CheckNoCsv(const Flags& flags) {
  if (flags.Text("format") != "csv") return absl::OkStatus();
  return FlagError("flag --format is csv; this benchmark writes text and json");
}

absl::StatusOr<int> RunExecutor(const CommandContext& context) {
  RETURN_IF_ERROR(CheckNoCsv(context.flags));
  ExecutorBenchmarkOptions options;
  options.rounds = static_cast<int>(context.flags.Int("rounds"));
  options.allocations = AllocationCount;
  ASSIGN_OR_RETURN(const std::vector<ExecutorRow> rows, BenchmarkExecutor(options));
  context.out << (context.flags.Text("format") == "json" ? ToJson(rows) : ToText(rows));
  return kExitFinished;
}

absl::StatusOr<int> RunTrain(const CommandContext& context) {
  const Flags& flags = context.flags;
  RETURN_IF_ERROR(CheckNoCsv(flags));
  TrainBenchmarkOptions options;
  options.model = flags.Text("model");
  options.batch = flags.Int("batch");
  options.steps = flags.Int("steps");
  options.rounds = flags.Int("rounds");
  options.strategy = flags.Text("strategy");
  const bool ours = options.model == "mini-inception";
  if (ours && !flags.IsSet("strategy")) options.strategy = kHybrid;
  if (flags.Text("peer") == "pytorch") {
    if (!ours) return FlagError("flag --peer is pytorch, which has mini-inception only; --model is {}", options.model);
    options.peer = "pytorch";
    options.peer_command = {PeerPython(), kPeerScript};
  }
  ASSIGN_OR_RETURN(const std::vector<TrainRow> rows, BenchmarkTrain(options));
  context.out << (flags.Text("format") == "json" ? ToJson(rows) : ToText(rows));
  return kExitFinished;
}

absl::StatusOr<int> RunKernels(const CommandContext& context) {
  RETURN_IF_ERROR(CheckNoCsv(context.flags));
  KernelTarget target;
  if (context.flags.Text("device") == "cuda") {
    ASSIGN_OR_RETURN(target, OpenCudaTarget());
  } else {
    target = OpenHostTarget(static_cast<int>(context.flags.Int("threads")));
  }
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

}  // namespace
}  // namespace partita

int main(int argc, char** argv) {
  using namespace partita;
  WaitPassively(argv);
  const ProgramDefinition benchmark = {
      "benchmark",
      "measures how fast it is, as ratios",
      BenchmarkFlags(),
      {
          {"executor", "what the executor itself costs for each node", "", {"format", "rounds"}, RunExecutor},
          {"kernels",
           "what each kernel reaches of what its device can do",
           "",
           {"format", "rounds", "device", "threads"},
           RunKernels},
          {"compile",
           "what partitioning, scheduling and their proofs cost for each node",
           "",
           {"format", "rounds", "nodes", "dp", "mp"},
           RunCompile},
          {"train",
           "training throughput, alone and beside another framework",
           "",
           {"format", "rounds", "steps", "batch", "model", "peer", "strategy"},
           RunTrain},
      },
  };
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  return RunProgram(benchmark, arguments, SystemFlagEnvironment(benchmark.name), std::cout, std::cerr);
}
