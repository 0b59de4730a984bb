#include "partitioner/choose/choose_strategy.h"

#include <algorithm>
#include <utility>

#include "partitioner/choose/candidates.h"
#include "partitioner/choose/plain_candidates.h"
#include "partitioner/choose/ranked_finalists.h"
#include "partitioner/predict/predicted_plan.h"
#include "partitioner/search/elimination/cost_tables.h"
#include "runtime/base/status.h"

namespace partita {
namespace {

class Chooser {
 public:
  Chooser(const ChooseRequest& request, const LayerGraph& layers)
      : request_(request),
        setting_{request.ranks, request.batch},
        searcher_(request.model.graph, layers, request.ranks, request.basis, request.solver) {}

  std::vector<Finalist> Run() {
    for (const SearchKind search : kSearches) {
      if (!request_.searches.contains(search)) continue;
      Try(search);
      TryPlain(search);
    }
    return std::move(finalists_);
  }

 private:
  // Tables leave out what does not lie in one layer: what buckets and streams hide, and what passes fuse. So what
  // anybody would try first is always compared.
  void TryPlain(SearchKind search) {
    for (Candidate& candidate : PlainCandidates(request_.model.graph, request_.ranks, search)) {
      const bool is_data = candidate.strategy.mesh.axes[1].size == 1;
      if (is_data && request_.searches.contains(SearchKind::kData)) continue;
      Finalist finalist = Compiled(std::move(candidate));
      if (finalist.seconds > 0) finalists_.push_back(std::move(finalist));
    }
  }

  // Its best plan; where that does not fit, also the best that does by the tables.
  void Try(SearchKind search) {
    const size_t before = finalists_.size();
    Try(search, kNever);
    const bool fits = std::none_of(finalists_.begin() + static_cast<std::ptrdiff_t>(before), finalists_.end(),
                                   [](const Finalist& one) { return absl::IsResourceExhausted(one.status); });
    if (!fits && search != SearchKind::kData) Try(search, BytesOfRank());
  }

  void Try(SearchKind search, double bytes) {
    absl::StatusOr<std::vector<Candidate>> candidates = searcher_.CandidatesOf(search, bytes);
    if (!candidates.ok()) {
      if (IsKnown(search, candidates.status())) return;
      Finalist none{{search, "none", {}, std::nullopt}, candidates.status()};
      none.setting = setting_;
      finalists_.push_back(std::move(none));
      return;
    }
    for (Candidate& candidate : *candidates) {
      if (!IsKnown(candidate)) finalists_.push_back(Compiled(std::move(candidate)));
    }
  }

  bool IsKnown(SearchKind search, const absl::Status& reason) const {
    return std::ranges::any_of(finalists_, [&](const Finalist& one) {
      return one.candidate.search == search && one.status.message() == reason.message();
    });
  }

  // What fits is found again by a search for plans that fit.
  bool IsKnown(const Candidate& candidate) const {
    return candidate.judgement && std::ranges::any_of(finalists_, [&](const Finalist& one) {
             const Candidate& other = one.candidate;
             return other.search == candidate.search && other.plan == candidate.plan && other.judgement &&
                    other.judgement->seconds == candidate.judgement->seconds &&
                    other.judgement->bytes == candidate.judgement->bytes;
           });
  }

  Finalist Compiled(Candidate candidate) const {
    if (request_.amend) request_.amend(candidate.strategy);
    Finalist finalist{std::move(candidate), {}};
    finalist.setting = setting_;
    finalist.status = Compile(finalist);
    return finalist;
  }

  absl::Status Compile(Finalist& finalist) const {
    const CostBasis& basis = request_.basis;
    PlanBasis compiled_for{request_.model,   basis.registry,   basis.cluster,    basis.times,
                           request_.kernels, request_.program, request_.schedule};
    compiled_for.schedule.memory_limit = request_.memory_bytes;
    ASSIGN_OR_RETURN(const PredictedPlan plan, PredictPlan(compiled_for, finalist.candidate.strategy));
    finalist.seconds = plan.step.seconds();
    finalist.memory_bytes = plan.memory.total;
    finalist.lacking_bytes = std::max(0.0, static_cast<double>(finalist.memory_bytes) - BytesOfRank());
    return plan.fits;
  }

  // What each may have, where those that share a memory have equal parts of it.
  double BytesOfRank() const {
    double least = request_.memory_bytes > 0 ? static_cast<double>(request_.memory_bytes) : kNever;
    const Cluster& cluster = request_.basis.cluster;
    for (int rank = 0; rank < request_.ranks; ++rank) {
      const int sharing = RanksSharingCores(cluster, rank, request_.ranks);
      least = std::min(least, static_cast<double>(cluster.KindOf(rank).memory_bytes) / sharing);
    }
    return least;
  }

  const ChooseRequest& request_;
  const Setting setting_;
  Searcher searcher_;
  std::vector<Finalist> finalists_;
};

}  // namespace

absl::StatusOr<std::vector<Finalist>> FindFinalists(const ChooseRequest& request) {
  RETURN_IF_ERROR(CheckRanks(request.basis.cluster, request.ranks));
  ASSIGN_OR_RETURN(const LayerGraph layers, FindLayers(request.model.graph, request.basis.registry));
  std::vector<Finalist> finalists = Chooser(request, layers).Run();
  if (finalists.empty()) return InvalidArgument("{} ranks: the search has nothing to choose", request.ranks);
  return finalists;
}

absl::StatusOr<std::vector<Finalist>> ChooseStrategy(const ChooseRequest& request) {
  ASSIGN_OR_RETURN(std::vector<Finalist> finalists, FindFinalists(request));
  return Ranked(std::move(finalists), {});
}

}  // namespace partita
