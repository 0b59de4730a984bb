#include "partitioner/choose/candidates.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "graph/ir/node_view.h"
#include "graph/ir/op_definition.h"
#include "partitioner/batch_parts.h"
#include "partitioner/choose/place_step.h"
#include "partitioner/data_model_strategy.h"
#include "partitioner/search/grid_search.h"
#include "partitioner/search/layerwise_search.h"
#include "partitioner/search/pipeline_search.h"
#include "partitioner/search/reason.h"
#include "partitioner/tables/found_strategy.h"
#include "runtime/base/number.h"
#include "runtime/base/status.h"

namespace partita {
namespace {

Candidate CandidateOf(SearchKind search, Strategy strategy, const Judgement& judgement) {
  const std::string plan = strategy.mesh.ToString();
  return {search, plan, std::move(strategy), judgement};
}

// Behind a plan that was chosen on tables without the sums of gradients.
constexpr char kHiddenSums[] = ", sums hidden";

// Of a grid with so many rows, as it was chosen with the sums of gradients.
struct GridOfRows {
  Configs modes;
  Judgement judgement;
};

// Of a plan that other tables chose: what it takes on these, and that no plan takes less than `lower_bound`.
Judgement JudgementOf(const LayerTables& tables, const Configs& configs, double lower_bound) {
  const Cost cost = CostOf(tables.tables, configs);
  return {cost.seconds, cost.bytes, lower_bound, {}};
}

// `idle` ranks of each of `data` groups compute nothing, which the plan says.
void SetIdle(int data, int idle, Candidate& candidate) {
  candidate.idle_ranks = data * idle;
  if (idle > 0) candidate.plan += fmt::format(" ({} idle)", Counted(candidate.idle_ranks, "rank"));
}

}  // namespace

Searcher::Searcher(const Graph& forward, const LayerGraph& layers, int ranks, const CostBasis& basis,
                   ProgramSolver solver)
    : forward_(forward), layers_(layers), ranks_(ranks), basis_(basis), solver_(std::move(solver)) {}

absl::StatusOr<std::vector<Candidate>> Searcher::CandidatesOf(SearchKind search, double bytes) {
  switch (search) {
    case SearchKind::kData:
      return Data();
    case SearchKind::kGrid:
      return Grid(/*of_groups=*/false, bytes);
    case SearchKind::kGroups:
      return Grid(/*of_groups=*/true, bytes);
    case SearchKind::kPlacement:
      return Placements(bytes);
    case SearchKind::kPipeline:
      return Pipelines(bytes);
    case SearchKind::kLayerwise:
      break;
  }
  return Layerwise(bytes);
}

absl::StatusOr<std::vector<Candidate>> Searcher::Data() const {
  ASSIGN_OR_RETURN(Strategy strategy, DataModelStrategy(forward_, ranks_, 1));
  const std::string plan = strategy.mesh.ToString();
  return std::vector<Candidate>{{SearchKind::kData, plan, std::move(strategy), std::nullopt}};
}

// The modes on each grid are chosen by the layer-wise search; groups stay within fast links where they can. The best
// grid comes first, after it every other one: what tables leave out can make it the faster one. Then those that are the
// best if computing hides all sums of gradients.
absl::StatusOr<std::vector<Candidate>> Searcher::Grid(bool of_groups, double bytes) {
  std::map<int, GridOfRows> of_rows;
  std::vector<Candidate> candidates;
  for (const bool hidden : {false, true}) {
    const auto grids = [&](int rows, int /*columns*/) -> absl::StatusOr<CostTables> {
      const absl::StatusOr<LayerTables>& tables = GridTablesOf(rows, of_groups);
      RETURN_IF_ERROR(tables.status());
      return hidden ? WithHiddenSums(*tables) : tables->tables;
    };
    ASSIGN_OR_RETURN(const GridAnswer answer,
                     of_groups ? GroupSearch(ranks_, RanksOfDomain(), grids, bytes) : GridSearch(ranks_, grids, bytes));
    const auto add = [&](const Answer<GridPlan>& one) {
      const LayerTables& tables = *GridTablesOf(one.plan.rows, of_groups);
      const auto [counted, is_new] = of_rows.try_emplace(one.plan.rows, GridOfRows{one.plan.modes, one});
      if (hidden && counted->second.modes == one.plan.modes && !is_new) return;
      const Judgement judgement =
          hidden ? JudgementOf(tables, one.plan.modes, counted->second.judgement.lower_bound) : Judgement(one);
      Strategy strategy = StrategyOfChoices(forward_, layers_, tables.mesh, ChoicesOf(tables, one.plan.modes));
      candidates.push_back(
          CandidateOf(of_groups ? SearchKind::kGroups : SearchKind::kGrid, std::move(strategy), judgement));
      if (hidden) candidates.back().plan += kHiddenSums;
    };
    add(answer);
    for (const Answer<GridPlan>& other : answer.others) add(other);
  }
  return candidates;
}

// The best of all meshes; and, if that is another one, the best where computing hides all sums of gradients.
absl::StatusOr<std::vector<Candidate>> Searcher::Layerwise(double bytes) {
  if (layerwise_.empty()) {
    for (const Mesh& mesh : LayerwiseMeshes()) {
      LayerCosts costs(layers_, mesh, basis_);
      layerwise_.push_back(MakeLayerTables(costs));
    }
  }
  ASSIGN_OR_RETURN(const LayerwisePlan counted, BestOfMeshes(/*hidden=*/false, bytes));
  std::vector<Candidate> candidates{LayerByLayer(counted)};
  const absl::StatusOr<LayerwisePlan> hidden = BestOfMeshes(/*hidden=*/true, bytes);
  if (!hidden.ok() || (hidden->tables == counted.tables && hidden->configs == counted.configs)) return candidates;
  candidates.push_back(LayerByLayer(*hidden));
  candidates.back().judgement = JudgementOf(*hidden->tables, hidden->configs, counted.judgement.lower_bound);
  candidates.back().plan += kHiddenSums;
  return candidates;
}

absl::StatusOr<Searcher::LayerwisePlan> Searcher::BestOfMeshes(bool hidden, double bytes) const {
  std::optional<LayerwisePlan> best;
  double lower_bound = kNever;
  absl::Status reason;
  for (const absl::StatusOr<LayerTables>& tables : layerwise_) {
    const auto search = [&]() -> absl::StatusOr<Answer<Configs>> {
      RETURN_IF_ERROR(tables.status());
      return LayerwiseSearch(hidden ? WithHiddenSums(*tables) : tables->tables, bytes);
    };
    const absl::StatusOr<Answer<Configs>> answer = search();
    UpdateReason(reason, answer.status());
    if (!answer.ok()) continue;
    lower_bound = std::min(lower_bound, answer->lower_bound);
    if (!best || answer->seconds < best->judgement.seconds) best = {&*tables, answer->plan, *answer};
  }
  if (!best) return reason;
  best->judgement.lower_bound = lower_bound;
  return *std::move(best);
}

Candidate Searcher::LayerByLayer(const LayerwisePlan& found) const {
  Mesh mesh = found.tables->mesh;
  std::vector<Choice> choices = ChoicesOf(*found.tables, found.configs);
  JoinAxes(mesh, choices);
  Strategy strategy = StrategyOfChoices(forward_, layers_, mesh, choices);
  return CandidateOf(SearchKind::kLayerwise, std::move(strategy), found.judgement);
}

// The prime axes have the most choices. But a sum over several axes is scattered in one move only where these are one
// axis, and of ranks with several primes groups have an axis that no prime axes make. So each grid has its own mesh
// besides, with all that a layer can do on it: what is found is the best grid after every change of its layers, and no
// slower than any grid on the tables.
std::vector<Mesh> Searcher::LayerwiseMeshes() const {
  std::vector<Mesh> meshes{PrimeMesh(ranks_)};
  const auto sizes_of = [](const Mesh& mesh) {
    std::vector<int> sizes;
    for (const MeshAxis& axis : mesh.axes) sizes.push_back(axis.size);
    return sizes;
  };
  for (const int model : GroupSizes()) {
    Mesh mesh = model < ranks_ ? GroupMesh(ranks_ / model, model) : Mesh{{{"a0", ranks_}}};
    if (sizes_of(mesh) != sizes_of(meshes[0])) meshes.push_back(std::move(mesh));
  }
  return meshes;
}

absl::StatusOr<std::vector<Candidate>> Searcher::Placements(double bytes) {
  return OfGroupSizes([&](int model) -> absl::StatusOr<Candidate> {
    ASSIGN_OR_RETURN(const WholeLayers whole, WholeLayers::Of(CostsOfGroups(model)));
    ASSIGN_OR_RETURN(const Answer<std::vector<int>> answer, PlaceStep(whole, model, bytes, solver_));
    Strategy strategy = StrategyOfRanks(forward_, layers_, ranks_ / model, "model", model, answer.plan);
    Candidate candidate = CandidateOf(SearchKind::kPlacement, std::move(strategy), answer);
    const auto used = static_cast<int>(std::set<int>(answer.plan.begin(), answer.plan.end()).size());
    SetIdle(ranks_ / model, model - used, candidate);
    return candidate;
  });
}

absl::StatusOr<std::vector<Candidate>> Searcher::Pipelines(double bytes) {
  return OfGroupSizes([&](int stages) -> absl::StatusOr<Candidate> {
    const int data = ranks_ / stages;
    ASSIGN_OR_RETURN(const WholeLayers whole, WholeLayers::Of(CostsOfGroups(stages)));
    const PipelineLimits limits{stages, MicroBatches(data), bytes};
    ASSIGN_OR_RETURN(const Answer<PipelinePlan> answer, PipelineSearch(PipelineTable(whole), limits));
    return Pipelined(answer, data, stages);
  });
}

// What small groups have no room for, or not the samples, larger ones can have: an error only where no size has a plan.
absl::StatusOr<std::vector<Candidate>> Searcher::OfGroupSizes(const PlanOfSize& plan) const {
  std::vector<Candidate> candidates;
  absl::Status reason;
  for (const int size : GroupSizes()) {
    absl::StatusOr<Candidate> candidate = plan(size);
    UpdateReason(reason, candidate.status());
    if (candidate.ok()) candidates.push_back(*std::move(candidate));
  }
  if (candidates.empty()) RETURN_IF_ERROR(reason);
  return candidates;
}

// The search may leave stages out, where fewer are faster: their ranks would have nothing to do, which the plan says.
Candidate Searcher::Pipelined(const Answer<PipelinePlan>& answer, int data, int stages) const {
  std::vector<int> rank_of_layer(layers_.layers.size(), 0);
  for (size_t stage = 0; stage < answer.plan.first_layer.size(); ++stage) {
    std::fill(rank_of_layer.begin() + answer.plan.first_layer[stage], rank_of_layer.end(), static_cast<int>(stage));
  }
  Strategy strategy = StrategyOfRanks(forward_, layers_, data, "stage", stages, rank_of_layer);
  strategy.pipeline.micro_batches = answer.plan.micro_batches;
  if (answer.plan.micro_batches > 1) strategy.pipeline.order = answer.plan.order;
  strategy.pipeline.stage_axis = "stage";
  Candidate candidate = CandidateOf(SearchKind::kPipeline, std::move(strategy), answer);
  SetIdle(data, stages - static_cast<int>(answer.plan.first_layer.size()), candidate);
  candidate.plan += fmt::format(", {}, {}", Counted(answer.plan.micro_batches, "micro-batch"), Name(answer.plan.order));
  return candidate;
}

LayerCosts& Searcher::CostsOfGroups(int model) {
  std::unique_ptr<LayerCosts>& costs = costs_[model];
  if (!costs) costs = std::make_unique<LayerCosts>(layers_, GroupMesh(ranks_ / model, model), basis_);
  return *costs;
}

const absl::StatusOr<LayerTables>& Searcher::GridTablesOf(int rows, bool of_groups) {
  const std::pair<int, bool> key{rows, of_groups};
  const auto known = grids_.find(key);
  if (known != grids_.end()) return known->second;
  return grids_.emplace(key, GridModeTables(CostsOfGroups(rows), of_groups)).first->second;
}

// Of worker groups of two or more.
std::vector<int> Searcher::GroupSizes() const {
  std::vector<int> sizes;
  for (int size = 2; size <= ranks_; ++size) {
    if (ranks_ % size == 0) sizes.push_back(size);
  }
  return sizes;
}

// How many of the ranks the innermost domain of the first device has: those with fast links among them.
int Searcher::RanksOfDomain() const {
  int count = 0;
  for (int rank = 0; rank < ranks_; ++rank)
    count += basis_.cluster.devices[rank].domain == basis_.cluster.devices[0].domain ? 1 : 0;
  return count;
}

// That divide the batch, and leave each replica a sample of each.
std::vector<int> Searcher::MicroBatches(int data) const {
  std::vector<int> counts;
  for (const int64_t count : BatchParts(forward_, data)) {
    if (AllTake(count)) counts.push_back(static_cast<int>(count));
  }
  return counts;
}

// Whether all ops can be computed in so many parts: batch statistics may not be cut.
bool Searcher::AllTake(int64_t parts) const {
  const Graph& graph = layers_.graph;
  return std::ranges::all_of(graph.nodes(), [&](const Node& node) {
    if (!node.op->check_micro_batch) return true;
    return node.op->check_micro_batch(ViewOf(graph, node), graph.type(node.inputs[0]).shape[0] / parts).ok();
  });
}

}  // namespace partita
