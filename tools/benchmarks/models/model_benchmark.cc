#include "tools/benchmarks/models/model_benchmark.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <utility>

#include "ops/registry.h"
#include "runtime/base/status.h"
#include "runtime/train/trainer.h"
#include "tools/benchmarks/kernels/limit_meter.h"
#include "tools/benchmarks/models/step_work.h"
#include "tools/benchmarks/timed_process.h"

namespace partita {
namespace {

constexpr char kOurs[] = "ours", kOneRank[] = "one rank";

// A process that trains, and what the rounds say of it.
struct Runner {
  Throughput result;
  std::unique_ptr<TimedProcess> process;  // null: it failed
  std::vector<double> rates;
  bool is_peer = false;  // may fail
};

// A row in the making; ours is the first runner.
struct Case {
  ModelRow row;
  StepWork work;
  std::vector<Runner> runners;
};

// How the threads of ours wait: as this program's do, which is the caller's to say.
std::vector<std::string> OurVariables() {
  std::vector<std::string> variables;
  for (const char* const name : {"OMP_WAIT_POLICY", "GOMP_SPINCOUNT"}) {
    if (const char* const chosen = std::getenv(name)) variables.push_back(fmt::format("{}={}", name, chosen));
  }
  return variables;
}

absl::Status AddOurs(const ModelBenchmarkOptions& options, const ModelCase& measured, const std::string& name,
                     Case& entry) {
  std::vector<std::string> command = options.loop_command;
  std::ranges::move(LoopFlags(measured), std::back_inserter(command));
  Runner runner;
  runner.result.name = name;
  ASSIGN_OR_RETURN(runner.process, TimedProcess::Start(command, OurVariables()));
  entry.runners.push_back(std::move(runner));
  return absl::OkStatus();
}

// A form that does not run on this machine (a compiler that is missing, say) is told, and left out.
void AddPeer(const ModelBenchmarkOptions& options, const ModelCase& measured, const PeerForm& form, Case& entry) {
  std::vector<std::string> command = options.peer_command;
  command.insert(command.end(), {"--model=" + measured.sizes.name, fmt::format("--batch={}", measured.sizes.batch),
                                 fmt::format("--image-size={}", measured.sizes.image_size),
                                 fmt::format("--threads={}", measured.threads),
                                 std::string("--device=") + (measured.gpu ? "cuda" : "cpu"),
                                 "--precision=" + measured.precision, "--mode=" + form.mode});
  for (const std::string& size : GivenSizes(measured.sizes)) command.push_back("--size=" + size);
  Runner& runner = entry.runners.emplace_back();
  runner.is_peer = true;
  runner.result.name = form.name;
  absl::StatusOr<std::unique_ptr<TimedProcess>> process = TimedProcess::Start(command, form.variables);
  if (process.ok()) {
    runner.process = *std::move(process);
    entry.row.peer = options.peer + " " + runner.process->version();
  } else {
    runner.result.failure = std::string(process.status().message());
  }
}

// What is wrong with the model or its split is told before anything is started.
absl::StatusOr<int> RanksOf(const ModelCase& measured) {
  ASSIGN_OR_RETURN(Model model, MakeMeasuredModel(measured.sizes));
  ASSIGN_OR_RETURN(const Strategy strategy, StrategyOf(measured, model.graph));
  SetScheduleLength(1, model.learning_rate);
  const int ranks = strategy.mesh.size();
  RETURN_IF_ERROR(MakeProgram(model, strategy, Ops(), ProgramOptionsOf(measured, model.graph, ranks)).status());
  return ranks;
}

absl::Status AddRunners(const ModelBenchmarkOptions& options, const ModelCase& measured, int ranks, Case& entry) {
  RETURN_IF_ERROR(AddOurs(options, measured, kOurs, entry));
  if (ranks > 1) {
    ModelCase alone = measured;
    alone.split = {};
    RETURN_IF_ERROR(AddOurs(options, alone, kOneRank, entry));
  }
  if (options.peer_command.empty()) return absl::OkStatus();
  for (const PeerForm& form : options.peer_forms) AddPeer(options, measured, form, entry);
  return absl::OkStatus();
}

// The first round warms up, and nothing of it counts.
absl::StatusOr<double> Seconds(const ModelBenchmarkOptions& options, bool counts, Runner& runner) {
  if (counts || runner.is_peer) return runner.process->Run(options.steps);
  RETURN_IF_ERROR(runner.process->Ask(fmt::format("warm {}", options.steps)).status());
  return 0;
}

// In the row's unit, of one step.
double OfStep(const ModelRow& row) { return static_cast<double>(row.batch * row.unit.of_sample); }

absl::Status RunRound(const ModelBenchmarkOptions& options, bool counts, Case& entry) {
  for (Runner& runner : entry.runners) {
    if (runner.process == nullptr) continue;
    const absl::StatusOr<double> seconds = Seconds(options, counts, runner);
    if (!seconds.ok() && !runner.is_peer) return seconds.status();
    if (!seconds.ok()) {
      runner.result.failure = std::string(seconds.status().message());
      runner.process = nullptr;
    } else if (counts) {
      runner.rates.push_back(static_cast<double>(options.steps) * OfStep(entry.row) / *seconds);
    }
  }
  return absl::OkStatus();
}

Estimate EstimateOf(const std::vector<double>& values) { return {Median(values), MedianInterval(values)}; }

void FinishRunner(const Runner& ours, Runner& runner) {
  if (runner.process == nullptr) return;
  runner.result.resident_bytes = runner.process->MostMemory();
  runner.result.grown_bytes = runner.process->GrownMemory();
  runner.result.per_s = EstimateOf(runner.rates);
  runner.result.ratio = EstimateOf(Ratios(ours.rates, runner.rates));
}

absl::Status Finish(const DeviceLimits& limits, Case& entry) {
  ModelRow& row = entry.row;
  for (Runner& runner : entry.runners) FinishRunner(entry.runners[0], runner);
  ASSIGN_OR_RETURN(const std::string facts, entry.runners[0].process->Ask("facts"));
  ASSIGN_OR_RETURN(row.session, ParseLoopFacts(facts));
  row.ours = entry.runners[0].result;
  const double step_seconds = OfStep(row) / row.ours.per_s.median;
  row.flops_per_s = entry.work.flops / step_seconds;
  row.product_flops_per_s = limits.flops_per_s;
  row.flop_utilisation = row.flops_per_s / row.product_flops_per_s;
  row.limit_share = LeastSeconds(entry.work.launches, limits) / step_seconds;
  row.exposed_share = row.session.exposed_seconds / row.session.step_seconds;
  double best = 0;
  for (size_t i = 1; i < entry.runners.size(); ++i) {
    const Throughput& other = row.others.emplace_back(entry.runners[i].result);
    if (!entry.runners[i].is_peer || other.per_s.median <= best) continue;
    best = other.per_s.median;
    row.best = other.name;
    row.ratio = other.ratio;
  }
  return absl::OkStatus();
}

absl::StatusOr<ModelRow> Measure(const ModelBenchmarkOptions& options, const ModelCase& measured, LimitMeter& limits) {
  Case entry;
  entry.row.model = measured.sizes.name;
  entry.row.batch = measured.sizes.batch;
  entry.row.image_size = measured.sizes.image_size;
  entry.row.sizes = GivenSizes(measured.sizes);
  entry.row.precision = measured.precision;
  ASSIGN_OR_RETURN(entry.row.unit, UnitOf(measured.sizes));
  ASSIGN_OR_RETURN(const int ranks, RanksOf(measured));
  ASSIGN_OR_RETURN(entry.work, WorkOfStep(measured));
  if (!options.agreement.script.empty()) {
    ASSIGN_OR_RETURN(entry.row.agreement, CheckAgreement(measured, options.agreement));
  }
  RETURN_IF_ERROR(AddRunners(options, measured, ranks, entry));
  for (int64_t round = 0; round <= options.rounds; ++round) {
    RETURN_IF_ERROR(RunRound(options, /*counts=*/round > 0, entry));
    if (round > 0) RETURN_IF_ERROR(limits.Round());
  }
  RETURN_IF_ERROR(Finish(limits.limits(), entry));
  return std::move(entry.row);
}

}  // namespace

absl::StatusOr<std::vector<ModelRow>> BenchmarkModels(const ModelBenchmarkOptions& options) {
  std::vector<ModelRow> rows;
  for (const std::string& precision : options.precisions) {
    ModelCase measured;
    measured.split = options.split;
    measured.precision = precision;
    measured.gpu = options.gpu;
    measured.threads = options.threads;
    ASSIGN_OR_RETURN(const KernelTarget target, OpenTarget(SessionOptionsOf(measured, 1)));
    ASSIGN_OR_RETURN(LimitMeter limits, LimitMeter::Create(target, ProductType(measured)));
    for (const MeasuredModel& sizes : options.models) {
      measured.sizes = sizes;
      ASSIGN_OR_RETURN(rows.emplace_back(), Measure(options, measured, limits));
    }
  }
  return rows;
}

}  // namespace partita
