#include "tools/benchmarks/compile_benchmark.h"

#include <fmt/format.h>

#include <algorithm>
#include <ctime>
#include <functional>

#include "graph/make_program.h"
#include "graph/prove/verify_collectives.h"
#include "graph/prove/verify_schedule.h"
#include "graph/read/verify_model.h"
#include "ops/graph_builder.h"
#include "ops/registry.h"
#include "partitioner/clusters/cluster_by_default.h"
#include "partitioner/data_model_strategy.h"
#include "runtime/api/backend/backend.h"
#include "runtime/base/status.h"
#include "tools/benchmarks/median.h"

namespace partita {
namespace {

double ProcessorMilliseconds() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return 1e3 * static_cast<double>(now.tv_sec) + 1e-6 * static_cast<double>(now.tv_nsec);
}

// One layer more or less makes about this many nodes of the partitioned training graph.
constexpr int64_t kNodesPerLayer = 9;

absl::StatusOr<Model> ChainModel(const CompileCase& wanted) {
  GraphBuilder builder(Ops());
  const int64_t features = 2 * wanted.model;
  ValueId x = builder.Input("images", DType::kF32, {4 * wanted.data, features});
  const ValueId labels = builder.Input("labels", DType::kI32, {4 * wanted.data});
  const int64_t layers = std::max<int64_t>(1, wanted.nodes / kNodesPerLayer);
  for (int64_t layer = 0; layer < layers; ++layer) {
    x = builder.Relu(fmt::format("relu{}", layer), builder.MatMul(fmt::format("matmul{}", layer), x, features));
  }
  Model model;
  model.name = "chain";
  ASSIGN_OR_RETURN(model.graph, builder.Build(builder.SoftmaxCrossEntropy("loss", x, labels)));
  model.optimizer.attributes.Set("momentum", 0.9);
  return model;
}

// Runs a phase and adds what it took to `times`.
template <typename Phase>
auto Timed(std::vector<double>& times, const Phase& phase) {
  const double begin = ProcessorMilliseconds();
  auto result = phase();
  times.push_back(ProcessorMilliseconds() - begin);
  return result;
}

struct Measured {
  CompileCase wanted;
  Model model;
  CompileRow row;
  std::vector<double> verify, partition, schedule, verify_schedule;
};

absl::Status VerifySchedules(const Program& program, const std::vector<Schedule>& schedules) {
  RETURN_IF_ERROR(VerifySchedules(schedules));
  return VerifyCollectives(program, schedules);
}

absl::Status Measure(Measured& measured, const Backend& backend) {
  RETURN_IF_ERROR(Timed(measured.verify, [&] { return VerifyModel(measured.model, Ops()); }));
  ASSIGN_OR_RETURN(
      const Program program, Timed(measured.partition, [&]() -> absl::StatusOr<Program> {
        ASSIGN_OR_RETURN(const Strategy strategy,
                         DataModelStrategy(measured.model.graph, measured.wanted.data, measured.wanted.model));
        return MakeProgram(measured.model, strategy, Ops(), {.speed = SpeedByDefault(strategy.mesh.size())});
      }));
  ASSIGN_OR_RETURN(const std::vector<Schedule> schedules, Timed(measured.schedule, [&] {
                     return backend.MakeSchedules(program, program.graph(kTrainEntry));
                   }));
  RETURN_IF_ERROR(Timed(measured.verify_schedule, [&] { return VerifySchedules(program, schedules); }));
  measured.row.nodes = static_cast<int64_t>(measured.model.graph.nodes().size());
  measured.row.program_nodes = static_cast<int64_t>(program.graph(kTrainEntry).nodes().size());
  measured.row.ranks = program.ranks();
  return absl::OkStatus();
}

CompileRow Row(const Measured& measured) {
  CompileRow row = measured.row;
  row.verify_ms = Median(measured.verify);
  row.partition_ms = Median(measured.partition);
  row.schedule_ms = Median(measured.schedule);
  row.verify_schedule_ms = Median(measured.verify_schedule);
  const double ranks_ms = row.schedule_ms + row.verify_schedule_ms;
  row.total_ms = row.verify_ms + row.partition_ms + ranks_ms;
  row.one_rank_ms = row.verify_ms + row.partition_ms + ranks_ms / row.ranks;
  row.ns_per_node = row.one_rank_ms * 1e6 / static_cast<double>(row.program_nodes);
  return row;
}

// The columns of every form of output, in order.
using Column = std::pair<const char*, std::function<std::string(const CompileRow&)>>;
const std::vector<Column>& Columns() {
  const auto count = [](auto member) {
    return [member](const CompileRow& row) { return fmt::format("{}", row.*member); };
  };
  const auto time = [](auto member) {
    return [member](const CompileRow& row) { return fmt::format("{:.3f}", row.*member); };
  };
  static const auto& columns = *new std::vector<Column>{
      {"nodes", count(&CompileRow::nodes)},
      {"program_nodes", count(&CompileRow::program_nodes)},
      {"ranks", count(&CompileRow::ranks)},
      {"verify_ms", time(&CompileRow::verify_ms)},
      {"partition_ms", time(&CompileRow::partition_ms)},
      {"schedule_ms", time(&CompileRow::schedule_ms)},
      {"verify_schedule_ms", time(&CompileRow::verify_schedule_ms)},
      {"total_ms", time(&CompileRow::total_ms)},
      {"one_rank_ms", time(&CompileRow::one_rank_ms)},
      {"ns_per_node", time(&CompileRow::ns_per_node)},
  };
  return columns;
}

}  // namespace

absl::StatusOr<std::vector<CompileRow>> BenchmarkCompile(const CompileBenchmarkOptions& options) {
  SessionOptions session;
  session.threads_per_rank = 1;
  session.tests.reference_kernels = true;
  ASSIGN_OR_RETURN(const std::unique_ptr<Backend> backend, Backend::OpenToPlan(1, Spread::kThreads, session));
  std::vector<Measured> cases;
  for (const CompileCase& wanted : options.cases) {
    Measured& made = cases.emplace_back();
    made.wanted = wanted;
    ASSIGN_OR_RETURN(made.model, ChainModel(wanted));
  }
  for (int round = 0; round < options.rounds; ++round) {
    for (Measured& measured : cases) RETURN_IF_ERROR(Measure(measured, *backend));
  }
  std::vector<CompileRow> rows;
  for (const Measured& measured : cases) rows.push_back(Row(measured));
  return rows;
}

std::string ToText(const std::vector<CompileRow>& rows) {
  std::string text;
  for (const auto& [name, print] : Columns()) text += fmt::format("{:>{}} ", name, std::string(name).size() + 2);
  text.back() = '\n';
  for (const CompileRow& row : rows) {
    for (const auto& [name, print] : Columns()) {
      text += fmt::format("{:>{}} ", print(row), std::string(name).size() + 2);
    }
    text.back() = '\n';
  }
  return text;
}

std::string ToJson(const std::vector<CompileRow>& rows) {
  std::string json = "[";
  for (const CompileRow& row : rows) {
    json += json.size() > 1 ? ",\n {" : "{";
    for (const auto& [name, print] : Columns()) {
      json += fmt::format("{}\"{}\":{}", json.back() == '{' ? "" : ",", name, print(row));
    }
    json += "}";
  }
  return json + "]\n";
}

std::string ToCsv(const std::vector<CompileRow>& rows) {
  std::string csv;
  for (const auto& [name, print] : Columns()) csv += fmt::format("{},", name);
  csv.back() = '\n';
  for (const CompileRow& row : rows) {
    for (const auto& [name, print] : Columns()) csv += fmt::format("{},", print(row));
    csv.back() = '\n';
  }
  return csv;
}

}  // namespace partita
