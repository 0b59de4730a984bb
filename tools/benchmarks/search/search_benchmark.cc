#include "tools/benchmarks/search/search_benchmark.h"

#include <fmt/format.h>

#include <utility>

#include "ops/registry.h"
#include "partitioner/search/elimination/cost_tables.h"
#include "runtime/base/status.h"
#include "tools/benchmarks/median.h"
#include "tools/benchmarks/nodes_of_eight.h"
#include "tools/models/models.h"

namespace partita {
namespace {

constexpr int64_t kBatch = 64;

struct MeasuredSearch {
  SearchRow row;
  std::vector<double> layers, edges, search;
};

std::vector<MeasuredSearch> CasesOf(const SearchBenchmarkOptions& options) {
  std::vector<MeasuredSearch> cases;
  for (const SearchKind search : options.searches) {
    for (const std::string& model : options.models) {
      for (int ranks = 2; ranks <= options.most_ranks; ranks *= 2) {
        cases.push_back({SearchRow{search, model, 0, 0, ranks, {}, 0, {}}, {}, {}, {}});
      }
    }
  }
  return cases;
}

absl::Status Measure(int64_t memory_bytes, MeasuredSearch& measured) {
  SearchRow& row = measured.row;
  ASSIGN_OR_RETURN(const Model model, MakeModel(row.model, {.batch = kBatch}, Ops()));
  ASSIGN_OR_RETURN(const LayerGraph layers, FindLayers(model.graph, Ops()));
  ASSIGN_OR_RETURN(const Cluster cluster, NodesOfEight(row.ranks));
  const KernelTimes times;
  const CostBasis basis{Ops(), cluster, times, 3};
  const double bytes = memory_bytes > 0 ? static_cast<double>(memory_bytes) : kNever;
  absl::StatusOr<TimedSearch> timed = TimeSearch(row.search, layers, row.ranks, bytes, basis);
  if (absl::IsResourceExhausted(timed.status()) && memory_bytes > 0) {
    row.refused = std::string(timed.status().message());
    return absl::OkStatus();
  }
  if (!timed.ok()) {
    return WithContext(fmt::format("{} of {} on {} ranks", Name(row.search), row.model, row.ranks), timed.status());
  }
  row.ops = static_cast<int64_t>(model.graph.nodes().size());
  row.layers = static_cast<int64_t>(layers.layers.size());
  row.timed = *timed;
  measured.layers.push_back(timed->layers_ms);
  measured.edges.push_back(timed->edges_ms);
  measured.search.push_back(timed->search_ms);
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::vector<SearchRow>> BenchmarkSearch(const SearchBenchmarkOptions& options) {
  std::vector<MeasuredSearch> cases = CasesOf(options);
  for (int round = 0; round < options.rounds; ++round) {
    for (MeasuredSearch& one : cases) RETURN_IF_ERROR(Measure(options.memory_bytes, one));
  }
  std::vector<SearchRow> rows;
  for (MeasuredSearch& one : cases) {
    if (one.row.refused.empty()) {
      one.row.timed.layers_ms = Median(std::move(one.layers));
      one.row.timed.edges_ms = Median(std::move(one.edges));
      one.row.timed.search_ms = Median(std::move(one.search));
    }
    if (one.row.refused.empty() && !rows.empty() && rows.back().ranks * 2 == one.row.ranks &&
        rows.back().all_ms() > 0) {
      one.row.growth = one.row.all_ms() / rows.back().all_ms();
    }
    rows.push_back(std::move(one.row));
  }
  return rows;
}

}  // namespace partita
