// The candidates of each search: its best plan on the tables of a model, for each way to cut the ranks into replicas;
// of layers that are chosen one by one the best of all. Where the sums of gradients decide, a second plan is the best
// if computing hides them.
#ifndef PARTITA_PARTITIONER_CHOOSE_CANDIDATES_H_
#define PARTITA_PARTITIONER_CHOOSE_CANDIDATES_H_

#include <functional>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "partitioner/choose/candidate.h"
#include "partitioner/search/layerwise_search.h"
#include "partitioner/search/placement/program_solver.h"
#include "partitioner/tables/layer_cost.h"
#include "partitioner/tables/layer_tables.h"
#include "partitioner/tables/layers.h"
#include "partitioner/tables/stage_tables.h"

namespace partita {

// Makes each table once, for all searches and limits. Thread-compatible.
class Searcher {
 public:
  // `forward`: the user's graph. All must outlive it. `solver`: of placements; nullptr: none.
  Searcher(const Graph& forward, const LayerGraph& layers, int ranks, const CostBasis& basis,
           ProgramSolver solver = nullptr);

  // None: the search has nothing to choose (a group of one rank). `bytes`: of a rank; searches whose best plan needs
  // more look for one that does not.
  absl::StatusOr<std::vector<Candidate>> CandidatesOf(SearchKind search, double bytes);

 private:
  absl::StatusOr<std::vector<Candidate>> Data() const;
  absl::StatusOr<std::vector<Candidate>> Grid(bool of_groups, double bytes);
  absl::StatusOr<std::vector<Candidate>> Layerwise(double bytes);
  absl::StatusOr<std::vector<Candidate>> Placements(double bytes);
  absl::StatusOr<std::vector<Candidate>> Pipelines(double bytes);
  // A plan of one of the layer-wise tables.
  struct LayerwisePlan {
    const LayerTables* tables = nullptr;
    Configs configs;
    Judgement judgement;
  };
  // `hidden`: as if computing hid all sums of gradients.
  absl::StatusOr<LayerwisePlan> BestOfMeshes(bool hidden, double bytes) const;
  Candidate LayerByLayer(const LayerwisePlan& found) const;
  using PlanOfSize = std::function<absl::StatusOr<Candidate>(int size)>;
  absl::StatusOr<std::vector<Candidate>> OfGroupSizes(const PlanOfSize& plan) const;
  Candidate Pipelined(const Answer<PipelinePlan>& answer, int data, int stages) const;

  LayerCosts& CostsOfGroups(int model);
  const absl::StatusOr<LayerTables>& GridTablesOf(int rows, bool of_groups);

  std::vector<Mesh> LayerwiseMeshes() const;
  std::vector<int> GroupSizes() const;
  int RanksOfDomain() const;
  std::vector<int> MicroBatches(int data) const;
  bool AllTake(int64_t parts) const;

  const Graph& forward_;
  const LayerGraph& layers_;
  const int ranks_;
  const CostBasis& basis_;
  const ProgramSolver solver_;
  std::map<int, std::unique_ptr<LayerCosts>> costs_;                   // by ranks of a worker group
  std::map<std::pair<int, bool>, absl::StatusOr<LayerTables>> grids_;  // by rows, and whether of groups
  std::vector<absl::StatusOr<LayerTables>> layerwise_;                 // once asked for, by LayerwiseMeshes
};

}  // namespace partita

#endif  // PARTITA_PARTITIONER_CHOOSE_CANDIDATES_H_
