#include "partitioner/choose/choose_strategy.h"

#include <algorithm>
#include <utility>

#include "partitioner/choose/candidates.h"
#include "partitioner/choose/plain_candidates.h"
#include "partitioner/predict/predicted_plan.h"
#include "partitioner/search/elimination/cost_tables.h"
#include "runtime/base/status.h"

namespace partita {
namespace {

class Chooser {
 public:
  Chooser(const ChooseRequest& request, const LayerGraph& layers)
      : request_(request), searcher_(request.model.graph, layers, request.ranks, request.basis, request.solver) {}

  absl::StatusOr<std::vector<Finalist>> Run() {
    for (const SearchKind search : kSearches) {
      if (!request_.searches.contains(search)) continue;
      Try(search);
      TryPlain(search);
    }
    if (finalists_.empty()) return InvalidArgument("{} ranks: the search has nothing to choose", request_.ranks);
    std::stable_sort(finalists_.begin(), finalists_.end(), [](const Finalist& a, const Finalist& b) {
      return std::pair(!a.status.ok(), a.seconds) < std::pair(!b.status.ok(), b.seconds);
    });
    if (!finalists_[0].status.ok()) return NoneRuns();
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
      finalists_.push_back({{search, "none", {}, std::nullopt}, candidates.status(), 0, 0});
      return;
    }
    for (Candidate& candidate : *candidates) finalists_.push_back(Compiled(std::move(candidate)));
  }

  Finalist Compiled(Candidate candidate) const {
    Finalist finalist{std::move(candidate), {}, 0, 0};
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

  absl::Status NoneRuns() const {
    const Finalist* nearest = nullptr;
    for (const Finalist& finalist : finalists_) {
      if (finalist.memory_bytes == 0 || !absl::IsResourceExhausted(finalist.status)) continue;
      if (nearest == nullptr || finalist.memory_bytes < nearest->memory_bytes) nearest = &finalist;
    }
    if (nearest == nullptr) return finalists_[0].status;
    const double lacking = static_cast<double>(nearest->memory_bytes) - BytesOfRank();
    return ResourceExhausted(
        "no plan of {} ranks fits; the nearest is {} on {}, whose fullest rank needs {} bytes: {:.0f} "
        "too many ({})",
        request_.ranks, Name(nearest->candidate.search), nearest->candidate.plan, nearest->memory_bytes,
        std::max(lacking, 0.0), std::string(nearest->status.message()));
  }

  const ChooseRequest& request_;
  Searcher searcher_;
  std::vector<Finalist> finalists_;
};

std::string ReasonAgainst(const Finalist& finalist, const Finalist& best) {
  if (!finalist.status.ok()) return std::string(finalist.status.message());
  const double slower = finalist.seconds - best.seconds;
  return slower > 0 ? fmt::format("slower by {:.1f} %", 100 * slower / best.seconds) : "as fast, less plain";
}

std::string Proof(const Candidate& candidate) {
  if (!candidate.judgement) return "not searched";
  if (candidate.judgement->Gap() == 0) return "the best on its tables";
  return fmt::format("gap {:.2f} %", 100 * candidate.judgement->Gap());
}

}  // namespace

absl::StatusOr<std::vector<Finalist>> ChooseStrategy(const ChooseRequest& request) {
  RETURN_IF_ERROR(CheckRanks(request.basis.cluster, request.ranks));
  ASSIGN_OR_RETURN(const LayerGraph layers, FindLayers(request.model.graph, request.basis.registry));
  return Chooser(request, layers).Run();
}

std::string FormatFinalists(const std::vector<Finalist>& finalists) {
  static constexpr char kRow[] = "{:<9}  {:<{}}  {:>9}  {:>9}  {}\n";
  size_t width = 4;
  for (const Finalist& one : finalists) width = std::max(width, one.candidate.plan.size());
  std::string text = fmt::format(kRow, "search", "plan", width, "step ms", "memory MB", "why");
  for (const Finalist& one : finalists) {
    const bool compiled = one.seconds > 0, chosen = &one == &finalists[0];
    text += fmt::format(kRow, Name(one.candidate.search), one.candidate.plan, width,
                        compiled ? fmt::format("{:.3f}", 1e3 * one.seconds) : "-",
                        compiled ? fmt::format("{:.1f}", static_cast<double>(one.memory_bytes) / 1e6) : "-",
                        (chosen ? "chosen; " : ReasonAgainst(one, finalists[0]) + "; ") + Proof(one.candidate));
  }
  return text;
}

std::vector<std::string> ReasonsFor(const std::vector<Finalist>& finalists) {
  const Finalist& best = finalists[0];
  const Candidate& candidate = best.candidate;
  std::vector<std::string> lines = {
      fmt::format("Found by the search '{}': {}.", Name(candidate.search), candidate.plan),
      fmt::format("Predicted: {:.3f} ms a step, {:.1f} MB on the fullest rank.", 1e3 * best.seconds,
                  static_cast<double>(best.memory_bytes) / 1e6)};
  if (candidate.judgement) {
    lines.push_back(
        fmt::format("On the search's tables {:.3f} ms, and no plan of its kind takes less than {:.3f} ms: {}.",
                    1e3 * candidate.judgement->seconds, 1e3 * candidate.judgement->lower_bound, Proof(candidate)));
  }
  for (size_t i = 1; i < finalists.size(); ++i) {
    lines.push_back(fmt::format("Not {} ({}): {}.", Name(finalists[i].candidate.search), finalists[i].candidate.plan,
                                ReasonAgainst(finalists[i], best)));
  }
  if (!candidate.judgement) return lines;
  for (const Rejected& rejected : candidate.judgement->rejected)
    lines.push_back(fmt::format("Next to it, on the tables: {}: {}.", rejected.plan, rejected.reason));
  return lines;
}

}  // namespace partita
