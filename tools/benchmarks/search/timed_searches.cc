#include "tools/benchmarks/search/timed_searches.h"

#include <map>
#include <vector>

#include "partitioner/choose/place_step.h"
#include "partitioner/search/grid_search.h"
#include "partitioner/search/layerwise_search.h"
#include "partitioner/search/pipeline_search.h"
#include "partitioner/tables/layer_tables.h"
#include "partitioner/tables/stage_tables.h"
#include "runtime/base/status.h"
#include "tools/benchmarks/nodes_of_eight.h"
#include "tools/benchmarks/processor_time.h"

namespace partita {
namespace {

int64_t ChoicesIn(const CostTables& tables) {
  int64_t choices = 0;
  for (const OpTable& op : tables.ops) choices += static_cast<int64_t>(op.seconds.size());
  return choices;
}

class SearchTimer {
 public:
  SearchTimer(const LayerGraph& layers, int ranks, double bytes, const CostBasis& basis)
      : layers_(layers), ranks_(ranks), bytes_(bytes), basis_(basis) {}

  absl::StatusOr<TimedSearch> Layerwise() {
    LayerCosts costs(layers_, PrimeMesh(ranks_), basis_);
    RETURN_IF_ERROR(Timed(timed_.layers_ms, [&] { return PrepareLayers(costs); }));
    ASSIGN_OR_RETURN(const LayerTables tables, Timed(timed_.edges_ms, [&] { return MakeLayerTables(costs); }));
    timed_.choices = ChoicesIn(tables.tables);
    return Searched([&] { return LayerwiseSearch(tables.tables, bytes_); });
  }

  // On every grid; of one on which a layer cannot lie, why.
  absl::StatusOr<TimedSearch> Grids(bool of_groups) {
    std::map<int, absl::StatusOr<CostTables>> by_rows;
    for (int rows = 1; rows <= ranks_; ++rows) {
      if (ranks_ % rows == 0) by_rows[rows] = TablesOf(rows, of_groups);
    }
    const auto tables = [&](int rows, int /*columns*/) { return by_rows.at(rows); };
    return Searched([&] {
      return of_groups ? GroupSearch(ranks_, kDevicesOfNode, tables, bytes_) : GridSearch(ranks_, tables, bytes_);
    });
  }

  absl::StatusOr<TimedSearch> Placement() {
    LayerCosts costs(layers_, GroupMesh(1, ranks_), basis_);
    ASSIGN_OR_RETURN(const WholeLayers whole, Timed(timed_.layers_ms, [&] { return WholeLayers::Of(costs); }));
    timed_.choices = RanksOfLayers();
    return Searched([&] { return PlaceStep(whole, ranks_, bytes_); });
  }

  absl::StatusOr<TimedSearch> Pipeline() {
    LayerCosts costs(layers_, GroupMesh(1, ranks_), basis_);
    ASSIGN_OR_RETURN(const WholeLayers whole, Timed(timed_.layers_ms, [&] { return WholeLayers::Of(costs); }));
    const std::vector<PipelineLayer> chain = Timed(timed_.edges_ms, [&] { return PipelineTable(whole); });
    timed_.choices = RanksOfLayers();
    return Searched([&] { return PipelineSearch(chain, {ranks_, {1, 2, 4, 8, 16, 32}, bytes_}); });
  }

 private:
  template <typename Search>
  absl::StatusOr<TimedSearch> Searched(const Search& search) {
    auto answer = Timed(timed_.search_ms, search);
    RETURN_IF_ERROR(answer.status());
    timed_.step_ms = 1e3 * answer->seconds;
    timed_.bytes = answer->bytes;
    timed_.gap = answer->Gap();
    return timed_;
  }

  absl::StatusOr<CostTables> TablesOf(int rows, bool of_groups) {
    LayerCosts costs(layers_, GroupMesh(ranks_ / rows, rows), basis_);
    RETURN_IF_ERROR(Timed(timed_.layers_ms, [&] { return PrepareLayers(costs, GridModes(costs, of_groups)); }));
    const auto tables = Timed(timed_.edges_ms, [&] { return GridModeTables(costs, of_groups); });
    RETURN_IF_ERROR(tables.status());
    timed_.choices += ChoicesIn(tables->tables);
    return tables->tables;
  }

  int64_t RanksOfLayers() const { return static_cast<int64_t>(layers_.layers.size()) * ranks_; }

  const LayerGraph& layers_;
  const int ranks_;
  const double bytes_;
  const CostBasis& basis_;
  TimedSearch timed_;
};

}  // namespace

absl::StatusOr<TimedSearch> TimeSearch(SearchKind search, const LayerGraph& layers, int ranks, double bytes,
                                       const CostBasis& basis) {
  SearchTimer timer(layers, ranks, bytes, basis);
  switch (search) {
    case SearchKind::kGrid:
      return timer.Grids(/*of_groups=*/false);
    case SearchKind::kGroups:
      return timer.Grids(/*of_groups=*/true);
    case SearchKind::kPlacement:
      return timer.Placement();
    case SearchKind::kPipeline:
      return timer.Pipeline();
    case SearchKind::kData:
    case SearchKind::kLayerwise:
      break;
  }
  return timer.Layerwise();
}

}  // namespace partita
