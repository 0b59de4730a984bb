#include "tools/benchmarks/train/checkpoint_benchmark.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>

#include "ops/registry.h"
#include "partitioner/data_model_strategy.h"
#include "runtime/base/status.h"
#include "runtime/train/sharded/shard_writer.h"
#include "runtime/train/sharded/write_checkpoint.h"
#include "tools/benchmarks/median.h"
#include "tools/benchmarks/process_memory.h"
#include "tools/benchmarks/train/training_loop.h"
#include "tools/models/models.h"

namespace partita {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

// A checkpoint in the middle of a round, of step 1; saved over and over.
class Save {
 public:
  Save(const Session& session, std::string folder, int64_t most_copied)
      : session_(session), folder_(std::move(folder)), most_copied_(most_copied) {}

  TrainingPauses Pauses(int64_t steps) {
    TrainingPauses pauses;
    const int64_t middle = std::max<int64_t>(1, steps / 2 - kStepsBeside);
    pauses.next = [this, middle](int64_t step) -> int64_t {
      return in_flight_ != nullptr ? kStepsBeside : step < middle ? middle - step : 0;
    };
    pauses.on_steps = [this](int64_t, const LossSums&) {
      const auto start = Clock::now();
      const absl::Status status = GoOn();
      held_ += Clock::now() - start;
      return status;
    };
    return pauses;
  }
  double held_seconds() const { return held_.count(); }

 private:
  absl::Status GoOn() {
    if (in_flight_ == nullptr) {
      ASSIGN_OR_RETURN(in_flight_,
                       CheckpointInFlight::Begin(session_, {.step = 1}, folder_, SystemDisk(), most_copied_));
      if (most_copied_ > 0) return absl::OkStatus();
    }
    bool there = false;
    do {
      ASSIGN_OR_RETURN(there, in_flight_->Advance());
    } while (most_copied_ == 0 && !there);
    if (there) in_flight_.reset();
    return absl::OkStatus();
  }

  const Session& session_;
  const std::string folder_;
  const int64_t most_copied_;
  std::unique_ptr<CheckpointInFlight> in_flight_;
  std::chrono::duration<double> held_{0};
};

struct Case {
  const char* how;
  int64_t most_copied;
  std::vector<double> seconds = {}, held_seconds = {};
  int64_t peak_bytes = 0;
};

absl::StatusOr<double> TimeOf(TrainingLoop& loop, int64_t steps, const TrainingPauses& pauses) {
  const auto start = Clock::now();
  RETURN_IF_ERROR(loop.Run(
                          steps, [] {}, pauses)
                      .status());
  return std::chrono::duration<double>(Clock::now() - start).count();
}

absl::Status RunCase(TrainingLoop& loop, const CheckpointBenchmarkOptions& options, Case& entry) {
  const std::string folder = options.folder + "/checkpoints";
  fs::create_directories(folder);
  Save save(loop.session(), folder, entry.most_copied);
  const int64_t before = MemoryOf(::getpid()).now;
  ForgetPeak();
  ASSIGN_OR_RETURN(const double seconds, TimeOf(loop, options.steps, save.Pauses(options.steps)));
  if (entry.seconds.empty()) entry.peak_bytes = std::max<int64_t>(0, MemoryOf(::getpid()).most - before);
  entry.seconds.push_back(seconds);
  entry.held_seconds.push_back(save.held_seconds());
  fs::remove_all(folder);
  return absl::OkStatus();
}

CheckpointRow RowOf(const CheckpointBenchmarkOptions& options, const Case& entry, const std::vector<double>& without,
                    int64_t state_bytes) {
  const Interval interval = MedianInterval(Ratios(entry.seconds, without));
  return {options.model,
          entry.how,
          options.steps,
          Median(without) / static_cast<double>(options.steps) * 1e3,
          MedianRatio(entry.seconds, without),
          interval.low,
          interval.high,
          Median(entry.held_seconds) * 1e3,
          state_bytes,
          entry.peak_bytes};
}

}  // namespace

absl::StatusOr<std::vector<CheckpointRow>> BenchmarkCheckpoint(const CheckpointBenchmarkOptions& options) {
  ASSIGN_OR_RETURN(Model model, MakeModel(options.model, {.batch = options.batch}, Ops()));
  ASSIGN_OR_RETURN(const Strategy strategy, DataModelStrategy(model.graph, 1, 1));
  SessionOptions session;
  session.threads_per_rank = options.threads;
  ASSIGN_OR_RETURN(const std::unique_ptr<TrainingLoop> loop,
                   TrainingLoop::Create(std::move(model), strategy, {}, session));
  ASSIGN_OR_RETURN(const OwnStates states, OwnStates::Collect(loop->session(), options.folder));
  RETURN_IF_ERROR(TimeOf(*loop, options.steps, {}).status());  // nothing is warm yet
  Case cases[] = {{"beside steps", kMostCopied}, {"at once", 0}};
  std::vector<double> without;
  for (int64_t round = 0; round < options.rounds; ++round) {
    ASSIGN_OR_RETURN(without.emplace_back(), TimeOf(*loop, options.steps, {}));
    for (Case& entry : cases) RETURN_IF_ERROR(RunCase(*loop, options, entry));
  }
  std::vector<CheckpointRow> rows;
  for (const Case& entry : cases) rows.push_back(RowOf(options, entry, without, states.bytes()));
  return rows;
}

std::string ToText(const std::vector<CheckpointRow>& rows) {
  std::string text = fmt::format("{:<16} {:<14} {:>6} {:>9} {:>7} {:>15} {:>8} {:>10} {:>10}\n", "model", "checkpoint",
                                 "steps", "step ms", "ratio", "95 %", "held ms", "states MB", "peak MB");
  for (const CheckpointRow& row : rows) {
    text += fmt::format("{:<16} {:<14} {:>6} {:>9.2f} {:>7.3f} {:>7.3f} {:>7.3f} {:>8.2f} {:>10.1f} {:>10.1f}\n",
                        row.model, row.how, row.steps, row.step_ms, row.ratio, row.low, row.high, row.held_ms,
                        static_cast<double>(row.state_bytes) / 1e6, static_cast<double>(row.peak_bytes) / 1e6);
  }
  return text;
}

std::string ToJson(const std::vector<CheckpointRow>& rows) {
  nlohmann::json json = nlohmann::json::array();
  for (const CheckpointRow& row : rows) {
    json.push_back({{"model", row.model},
                    {"checkpoint", row.how},
                    {"steps", row.steps},
                    {"step_ms", row.step_ms},
                    {"ratio", row.ratio},
                    {"ratio_low", row.low},
                    {"ratio_high", row.high},
                    {"held_ms", row.held_ms},
                    {"state_bytes", row.state_bytes},
                    {"peak_bytes", row.peak_bytes}});
  }
  return json.dump(2) + "\n";
}

}  // namespace partita
