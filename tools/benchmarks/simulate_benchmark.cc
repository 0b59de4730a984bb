#include "tools/benchmarks/simulate_benchmark.h"

#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <utility>

#include "graph/make_program.h"
#include "ops/registry.h"
#include "partitioner/cost/cluster_speed.h"
#include "partitioner/data_model_strategy.h"
#include "partitioner/simulate/simulate.h"
#include "runtime/api/backend/backend.h"
#include "runtime/base/status.h"
#include "tools/benchmarks/median.h"
#include "tools/benchmarks/nodes_of_eight.h"
#include "tools/benchmarks/processor_time.h"
#include "tools/models/models.h"

namespace partita {
namespace {

struct Measured {
  SimulateRow row;
  std::vector<double> program, schedule, simulate;
};

void Describe(const FoldedSchedules& schedules, const SimulatedStep& step, SimulateRow& row) {
  row.ranks = static_cast<int>(step.of_rank.size());
  row.classes = static_cast<int>(step.timelines.size());
  row.launches = 0;
  for (const int place : schedules.of_rank) {
    row.launches += static_cast<int64_t>(schedules.schedules[static_cast<size_t>(place)].launches.size());
  }
  row.step_ms = 1e3 * step.seconds();
}

absl::Status Measure(const SimulateCase& wanted, const Backend& backend, Measured& measured) {
  const ModelOptions options{.batch = int64_t{4} * wanted.data, .image_size = wanted.image_size};
  ASSIGN_OR_RETURN(Model model, MakeModel(wanted.model, options, Ops()));
  model.learning_rate.steps = 1;  // of a run, which there is none
  ASSIGN_OR_RETURN(const Strategy strategy, DataModelStrategy(model.graph, wanted.data, wanted.ranks_of_replica));
  const int ranks = strategy.mesh.size();
  ASSIGN_OR_RETURN(const Cluster cluster, NodesOfEight(ranks));
  const ProgramOptions program_options{.speed = SpeedOf(cluster, ranks)};
  ASSIGN_OR_RETURN(const Program program, Timed(measured.program.emplace_back(),
                                                [&] { return MakeProgram(model, strategy, Ops(), program_options); }));
  ASSIGN_OR_RETURN(const FoldedSchedules schedules, Timed(measured.schedule.emplace_back(), [&] {
                     return backend.MakeFoldedSchedules(program, program.graph(kTrainEntry));
                   }));
  ASSIGN_OR_RETURN(const SimulatedStep step, Timed(measured.simulate.emplace_back(),
                                                   [&] { return Simulate(program, schedules.ByRank(), cluster); }));
  measured.row.model = wanted.model;
  Describe(schedules, step, measured.row);
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::vector<SimulateRow>> BenchmarkSimulate(const SimulateBenchmarkOptions& options) {
  SessionOptions session;
  session.threads_per_rank = 1;
  session.tests.reference_kernels = true;
  ASSIGN_OR_RETURN(const std::unique_ptr<Backend> backend, Backend::OpenToPlan(1, Spread::kThreads, session));
  std::vector<Measured> cases(options.cases.size());
  for (int round = 0; round < options.rounds; ++round) {
    for (size_t c = 0; c < cases.size(); ++c) RETURN_IF_ERROR(Measure(options.cases[c], *backend, cases[c]));
  }
  std::vector<SimulateRow> rows;
  for (Measured& measured : cases) {
    measured.row.program_ms = Median(std::move(measured.program));
    measured.row.schedule_ms = Median(std::move(measured.schedule));
    measured.row.simulate_ms = Median(std::move(measured.simulate));
    rows.push_back(measured.row);
  }
  return rows;
}

std::string ToText(const std::vector<SimulateRow>& rows) {
  std::string text = fmt::format("{:<16}{:>6}{:>12}{:>9}{:>13}{:>14}{:>14}{:>11}\n", "model", "ranks", "launches",
                                 "classes", "program ms", "schedule ms", "simulate ms", "step ms");
  for (const SimulateRow& row : rows) {
    text += fmt::format("{:<16}{:>6}{:>12}{:>9}{:>13.1f}{:>14.1f}{:>14.1f}{:>11.3f}\n", row.model, row.ranks,
                        row.launches, row.classes, row.program_ms, row.schedule_ms, row.simulate_ms, row.step_ms);
  }
  return text;
}

std::string ToJson(const std::vector<SimulateRow>& rows) {
  nlohmann::ordered_json json = nlohmann::ordered_json::array();
  for (const SimulateRow& row : rows) {
    json.push_back({{"model", row.model},
                    {"ranks", row.ranks},
                    {"launches", row.launches},
                    {"classes", row.classes},
                    {"program_ms", row.program_ms},
                    {"schedule_ms", row.schedule_ms},
                    {"simulate_ms", row.simulate_ms},
                    {"step_ms", row.step_ms}});
  }
  return json.dump(1) + "\n";
}

}  // namespace partita
