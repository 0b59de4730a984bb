#include "partitioner/choose/candidates.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>

#include "graph/ir/node_view.h"
#include "graph/ir/op_definition.h"
#include "partitioner/choose/place_step.h"
#include "partitioner/data_model_strategy.h"
#include "partitioner/search/grid_search.h"
#include "partitioner/search/layerwise_search.h"
#include "partitioner/search/pipeline_search.h"
#include "partitioner/tables/found_strategy.h"
#include "partitioner/tables/layer_tables.h"
#include "partitioner/tables/stage_tables.h"
#include "runtime/base/status.h"

namespace partita {
namespace {

// More parts than this make launches so small that none is ever chosen.
constexpr int64_t kMostParts = 64;

template <typename Plan>
Candidate CandidateOf(SearchKind search, Strategy strategy, const Answer<Plan>& answer) {
  const std::string plan = strategy.mesh.ToString();
  return {search, plan, std::move(strategy), true, answer.seconds, answer.lower_bound, answer.rejected};
}

class Searcher {
 public:
  explicit Searcher(const CandidateRequest& request) : request_(request) {}

  absl::StatusOr<std::vector<Candidate>> Data() const {
    ASSIGN_OR_RETURN(Strategy strategy, DataModelStrategy(request_.forward, request_.ranks, 1));
    const std::string plan = strategy.mesh.ToString();
    return std::vector<Candidate>{{SearchKind::kData, plan, std::move(strategy), false, 0, 0, {}}};
  }

  // The modes on each grid are chosen by the layer-wise search; groups stay within fast links where they can.
  absl::StatusOr<std::vector<Candidate>> Grid(bool of_groups) const {
    const auto tables_of = [&](int rows, int columns) -> LayerTables {
      absl::StatusOr<LayerTables> tables = GridModeTables(request_.layers, rows, columns, of_groups, request_.basis);
      return tables.ok() ? *std::move(tables) : NoTables();
    };
    const auto grids = [&](int rows, int columns) { return tables_of(rows, columns).tables; };
    absl::StatusOr<Answer<GridPlan>> answer = of_groups
                                                  ? GroupSearch(request_.ranks, RanksOfDomain(), grids, request_.bytes)
                                                  : GridSearch(request_.ranks, grids, request_.bytes);
    RETURN_IF_ERROR(answer.status());
    const LayerTables tables = tables_of(answer->plan.rows, answer->plan.columns);
    Strategy strategy =
        StrategyOfChoices(request_.forward, request_.layers, tables.mesh, ChoicesOf(tables, answer->plan.modes));
    return std::vector<Candidate>{
        CandidateOf(of_groups ? SearchKind::kGroups : SearchKind::kGrid, std::move(strategy), *answer)};
  }

  absl::StatusOr<std::vector<Candidate>> Layerwise() const {
    ASSIGN_OR_RETURN(const LayerTables tables, LayerwiseTables(request_.layers, request_.ranks, request_.basis));
    ASSIGN_OR_RETURN(const Answer<Configs> answer, LayerwiseSearch(tables.tables, request_.bytes));
    Strategy strategy =
        StrategyOfChoices(request_.forward, request_.layers, tables.mesh, ChoicesOf(tables, answer.plan));
    return std::vector<Candidate>{CandidateOf(SearchKind::kLayerwise, std::move(strategy), answer)};
  }

  absl::StatusOr<std::vector<Candidate>> Placements() const {
    std::vector<Candidate> candidates;
    for (const int model : GroupSizes()) {
      const int data = request_.ranks / model;
      ASSIGN_OR_RETURN(const Answer<std::vector<int>> answer,
                       PlaceStep(request_.layers, data, model, request_.bytes, request_.basis));
      Strategy strategy = StrategyOfRanks(request_.forward, request_.layers, data, "model", model, answer.plan);
      candidates.push_back(CandidateOf(SearchKind::kPlacement, std::move(strategy), answer));
    }
    return candidates;
  }

  absl::StatusOr<std::vector<Candidate>> Pipelines() const {
    std::vector<Candidate> candidates;
    for (const int stages : GroupSizes()) {
      const int data = request_.ranks / stages;
      ASSIGN_OR_RETURN(const std::vector<PipelineLayer> chain,
                       PipelineTables(request_.layers, data, stages, request_.basis));
      const PipelineLimits limits{stages, MicroBatches(data), request_.bytes};
      ASSIGN_OR_RETURN(const Answer<PipelinePlan> answer, PipelineSearch(chain, limits));
      candidates.push_back(Pipelined(answer, data, stages));
    }
    return candidates;
  }

 private:
  // A grid on which a layer cannot lie.
  static LayerTables NoTables() {
    LayerTables none;
    none.tables.ops.push_back({"grid", {"none"}, {kNever}, {0}});
    return none;
  }

  // Of worker groups of two or more.
  std::vector<int> GroupSizes() const {
    std::vector<int> sizes;
    for (int size = 2; size <= request_.ranks; ++size) {
      if (request_.ranks % size == 0) sizes.push_back(size);
    }
    return sizes;
  }

  // How many of the ranks the innermost domain of the first device has: those with fast links among them.
  int RanksOfDomain() const {
    int count = 0;
    for (int rank = 0; rank < request_.ranks; ++rank)
      count += request_.basis.cluster.devices[rank].domain == request_.basis.cluster.devices[0].domain ? 1 : 0;
    return count;
  }

  // That divide the batch, and leave each replica a sample of each.
  std::vector<int> MicroBatches(int data) const {
    int64_t samples = 1;
    for (const Node& node : request_.forward.nodes()) {
      const Shape& shape = request_.forward.type(node.outputs[0]).shape;
      if (node.op->role == Role::kInput && !shape.empty()) samples = std::max(samples, shape[0]);
    }
    std::vector<int> counts;
    for (int64_t count = 1; count == 1 || count <= std::min(samples / data, kMostParts); ++count) {
      if (samples % count == 0 && AllTake(count)) counts.push_back(static_cast<int>(count));
    }
    return counts;
  }

  // Whether all ops can be computed in so many parts: batch statistics may not be cut.
  bool AllTake(int64_t parts) const {
    const Graph& graph = request_.layers.graph;
    return std::ranges::all_of(graph.nodes(), [&](const Node& node) {
      if (!node.op->check_micro_batch) return true;
      return node.op->check_micro_batch(ViewOf(graph, node), graph.type(node.inputs[0]).shape[0] / parts).ok();
    });
  }

  // The search may leave stages out, where fewer are faster: their ranks would have nothing to do.
  Candidate Pipelined(const Answer<PipelinePlan>& answer, int data, int stages) const {
    std::vector<int> rank_of_layer(request_.layers.layers.size(), 0);
    for (size_t stage = 0; stage < answer.plan.first_layer.size(); ++stage) {
      std::fill(rank_of_layer.begin() + answer.plan.first_layer[stage], rank_of_layer.end(), static_cast<int>(stage));
    }
    Strategy strategy = StrategyOfRanks(request_.forward, request_.layers, data, "stage", stages, rank_of_layer);
    strategy.pipeline.micro_batches = answer.plan.micro_batches;
    if (answer.plan.micro_batches > 1) strategy.pipeline.order = answer.plan.order;
    strategy.pipeline.stage_axis = "stage";
    Candidate candidate = CandidateOf(SearchKind::kPipeline, std::move(strategy), answer);
    candidate.plan += fmt::format(", {} micro-batches, {}", answer.plan.micro_batches, Name(answer.plan.order));
    return candidate;
  }

  const CandidateRequest& request_;
};

}  // namespace

absl::StatusOr<std::vector<Candidate>> CandidatesOf(SearchKind search, const CandidateRequest& request) {
  const Searcher searcher(request);
  switch (search) {
    case SearchKind::kData:
      return searcher.Data();
    case SearchKind::kGrid:
      return searcher.Grid(/*of_groups=*/false);
    case SearchKind::kGroups:
      return searcher.Grid(/*of_groups=*/true);
    case SearchKind::kPlacement:
      return searcher.Placements();
    case SearchKind::kPipeline:
      return searcher.Pipelines();
    case SearchKind::kLayerwise:
      break;
  }
  return searcher.Layerwise();
}

}  // namespace partita
