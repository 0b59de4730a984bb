#include "partitioner/choose/choose_strategy.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "partitioner/choose/candidates.h"
#include "partitioner/choose/plain_candidates.h"
#include "partitioner/choose/ranked_finalists.h"
#include "partitioner/predict/predicted_plan.h"
#include "partitioner/search/elimination/cost_tables.h"
#include "runtime/base/number.h"
#include "runtime/base/status.h"

namespace partita {
namespace {

constexpr char kNoPlan[] = "none";

class Chooser {
 public:
  Chooser(const ChooseRequest& request, const LayerGraph& layers)
      : request_(request),
        setting_{request.ranks, request.batch},
        searcher_(request.model.graph, layers, request.ranks, request.basis, request.solver) {}

  std::vector<Finalist> Run() {
    if (request_.searches.empty()) TryPlain(SearchKind::kData);
    for (const SearchKind search : kSearches) {
      if (!Asked(search)) continue;
      Try(search, search);
      for (const SearchKind within : SearchesWithin(search)) {
        if (!Asked(within)) Try(within, search);
      }
      if (search != SearchKind::kData && !AsksSolverAlone()) TryPlain(search);
    }
    TryBuckets();
    TellApart();
    return std::move(finalists_);
  }

 private:
  bool Asked(SearchKind search) const { return request_.searches.contains(search); }

  // Then a placement is wanted, not what is faster.
  bool AsksSolverAlone() const { return request_.solver && request_.searches == std::set{SearchKind::kPlacement}; }

  static bool IsCompiled(const Finalist& one) { return one.seconds > 0; }

  // Tables lack the effects between layers: what buckets and streams hide, and what passes fuse. So every search also
  // compares the plans that a user would try first.
  // Where a search has found nothing, its reason stays the answer.
  void TryPlain(SearchKind search) {
    const bool alone = request_.searches.empty();
    if (!alone && std::ranges::none_of(finalists_, IsCompiled)) return;
    for (Candidate& candidate : PlainCandidates(request_.model.graph, request_.ranks, search)) {
      const bool is_data = candidate.strategy.mesh.axes[1].size == 1;
      if ((is_data && Asked(SearchKind::kData)) || !plain_.insert(candidate.plan).second) continue;
      Finalist finalist = Compiled(std::move(candidate));
      if (IsCompiled(finalist)) finalists_.push_back(std::move(finalist));
    }
  }

  // No table knows how much communication gradient buckets hide, so the searches simulate further sizes. They skip the
  // plans whose computing alone takes as long as the fastest step: no size makes such a plan the fastest.
  void TryBuckets() {
    if (request_.program.bucket_bytes >= 0) return;
    std::vector<Finalist> plans;
    std::ranges::copy_if(finalists_, std::back_inserter(plans), [](const Finalist& one) { return one.status.ok(); });
    std::ranges::stable_sort(plans, {}, &Finalist::seconds);
    double fastest = plans.empty() ? 0 : plans[0].seconds;
    for (const Finalist& plan : plans) {
      if (plan.candidate.strategy.mesh.size() == 1 || plan.compute_seconds >= fastest) continue;
      for (const int64_t mebibytes : kBucketMebibytes) {
        Candidate candidate = plan.candidate;
        candidate.strategy.bucket_bytes = mebibytes << 20;
        candidate.plan += fmt::format(", buckets of {} MiB", mebibytes);
        Finalist finalist = Compiled(std::move(candidate));
        if (!finalist.status.ok() || finalist.seconds >= plan.seconds * (1 - kLeastBucketGain)) continue;
        fastest = std::min(fastest, finalist.seconds);
        finalists_.push_back(std::move(finalist));
      }
    }
  }

  // Plans of one name that differ are numbered.
  void TellApart() {
    std::map<std::pair<SearchKind, std::string>, int> named;
    for (Finalist& one : finalists_) {
      if (one.candidate.plan == kNoPlan) continue;
      const int times = ++named[{one.candidate.search, one.candidate.plan}];
      if (times > 1) one.candidate.plan += fmt::format(" ({})", times);
    }
  }

  // Its best plan; where that does not fit, also the best that does by the tables. `as`: the search that was asked for,
  // whose plans these are as well.
  void Try(SearchKind search, SearchKind as) {
    const size_t before = finalists_.size();
    Try(search, as, kNever);
    const bool fits = std::none_of(finalists_.begin() + static_cast<std::ptrdiff_t>(before), finalists_.end(),
                                   [](const Finalist& one) { return absl::IsResourceExhausted(one.status); });
    if (!fits && search != SearchKind::kData) Try(search, as, BytesOfRank());
  }

  void Try(SearchKind search, SearchKind as, double bytes) {
    absl::StatusOr<std::vector<Candidate>> candidates = searcher_.CandidatesOf(search, bytes);
    if (!candidates.ok()) {
      if (IsKnown(as, candidates.status())) return;
      Finalist none{{as, kNoPlan, {}, std::nullopt}, candidates.status()};
      none.setting = setting_;
      finalists_.push_back(std::move(none));
      return;
    }
    for (Candidate& candidate : *candidates) {
      candidate.search = as;
      if (IsKnown(candidate)) continue;
      if (search != as) candidate.plan += fmt::format(", by {}", Name(search));
      if (bytes < kNever) candidate.plan += ", the best that fits";
      finalists_.push_back(Compiled(std::move(candidate)));
    }
  }

  bool IsKnown(SearchKind search, const absl::Status& reason) const {
    return std::ranges::any_of(finalists_, [&](const Finalist& one) {
      return one.candidate.search == search && one.status.message() == reason.message();
    });
  }

  // What fits is found again by a search for plans that fit. Behind the name of a known one may stand what found it.
  bool IsKnown(const Candidate& candidate) const {
    return candidate.judgement && std::ranges::any_of(finalists_, [&](const Finalist& one) {
             const Candidate& other = one.candidate;
             return other.search == candidate.search && other.plan.starts_with(candidate.plan) && other.judgement &&
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
    finalist.compute_seconds = plan.compute_seconds;
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
  std::set<std::string> plain_;  // plans of flags that were tried
};

}  // namespace

absl::StatusOr<std::vector<Finalist>> FindFinalists(const ChooseRequest& request) {
  RETURN_IF_ERROR(CheckRanks(request.basis.cluster, request.ranks));
  ASSIGN_OR_RETURN(const LayerGraph layers, FindLayers(request.model.graph, request.basis.registry));
  std::vector<Finalist> finalists = Chooser(request, layers).Run();
  if (finalists.empty()) return InvalidArgument("{}: the search has nothing to choose", Counted(request.ranks, "rank"));
  return finalists;
}

absl::StatusOr<std::vector<Finalist>> ChooseStrategy(const ChooseRequest& request) {
  ASSIGN_OR_RETURN(std::vector<Finalist> finalists, FindFinalists(request));
  ASSIGN_OR_RETURN(finalists, Ranked(std::move(finalists), {}));
  PreferFewerRanks(finalists);
  return finalists;
}

}  // namespace partita
