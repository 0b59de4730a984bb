#include "runtime/api/communication_meter.h"

#include <algorithm>
#include <string>
#include <variant>

#include "graph/ir/gradient_moves.h"
#include "graph/timeline/overlap.h"
#include "runtime/api/job/packed_values.h"
#include "runtime/base/median.h"
#include "runtime/base/status.h"

namespace partita {
namespace {

constexpr double kNanosecond = 1e-9;

// A rank whose steps move nothing hides all of it.
double MedianShare(const std::vector<double>& shares) { return shares.empty() ? 1 : Median(shares); }

}  // namespace

CommunicationMeter::CommunicationMeter(Session& session)
    : session_(session), gradients_(GradientMoves(session.program().graph(kTrainEntry))) {
  if (session.gpu_name().empty()) session.RecordTimeline(true);
  for (const int rank : session.local_ranks()) {
    ranks_.emplace_back();
    ranks_.back().sums.rank = rank;
  }
}

void CommunicationMeter::AddStep() {
  for (Rank& rank : ranks_) AddStep(rank.sums.rank, rank);
}

void CommunicationMeter::AddStep(int rank, Rank& sums) const {
  std::vector<TimeRange> collectives, gradients, kernels, backward;
  for (const LaunchSpan& span : session_.Timeline(kTrainEntry, rank)) {
    const Launch& launch = *span.launch;
    if (std::holds_alternative<HostLaunch>(launch.work)) continue;
    const TimeRange range = RangeOf(span);
    if (std::holds_alternative<CollectiveLaunch>(launch.work)) {
      collectives.push_back(range);
      if (gradients_[launch.node]) gradients.push_back(range);
    } else {
      kernels.push_back(range);
      if (launch.phase == Phase::kBackward) backward.push_back(range);
    }
  }
  if (kernels.empty() && collectives.empty()) return;
  const OverlapTime all = MeasureOverlap(std::move(collectives), kernels);
  const OverlapTime gradient = MeasureOverlap(gradients, std::move(kernels));
  const OverlapTime behind_backward = MeasureOverlap(std::move(gradients), std::move(backward));
  ++sums.sums.steps;
  sums.sums.busy += kNanosecond * static_cast<double>(all.busy_ns);
  sums.sums.exposed += kNanosecond * static_cast<double>(all.exposed_ns);
  sums.sums.gradient_busy += kNanosecond * static_cast<double>(gradient.busy_ns);
  sums.sums.gradient_exposed += kNanosecond * static_cast<double>(gradient.exposed_ns);
  sums.sums.gradient_behind_backward += kNanosecond * static_cast<double>(behind_backward.hidden_ns());
  if (all.busy_ns > 0) sums.hidden_shares.push_back(all.hidden_share());
  if (gradient.busy_ns > 0) sums.gradient_hidden_shares.push_back(behind_backward.hidden_share());
}

std::vector<RankCommunication> CommunicationMeter::Local() const {
  std::vector<RankCommunication> means;
  for (const Rank& rank : ranks_) {
    if (rank.sums.steps == 0) continue;
    RankCommunication mean = rank.sums;
    for (double* const seconds :
         {&mean.busy, &mean.exposed, &mean.gradient_busy, &mean.gradient_exposed, &mean.gradient_behind_backward}) {
      *seconds /= static_cast<double>(mean.steps);
    }
    mean.hidden_share = MedianShare(rank.hidden_shares);
    mean.gradient_hidden_share = MedianShare(rank.gradient_hidden_shares);
    means.push_back(mean);
  }
  return means;
}

absl::StatusOr<std::vector<RankCommunication>> CommunicationMeter::Job() const {
  PackedValues packed;
  for (const RankCommunication& rank : Local()) packed.Add(rank);
  constexpr MessageKind kKind = MessageKind::kCommunicationTimes;
  ASSIGN_OR_RETURN(const std::vector<std::string> all, session_.AllGather({kKind, packed.bytes()}));
  std::vector<RankCommunication> ranks;
  for (size_t process = 0; process < all.size(); ++process) {
    PackedReader values(kKind, process, all[process]);
    while (!values.AtEnd()) {
      ranks.push_back(values.Next<RankCommunication>());
      const int rank = ranks.back().rank;
      if (rank < 0 || rank >= session_.ranks()) values.Refuse(fmt::format("rank {} of {}", rank, session_.ranks()));
    }
    RETURN_IF_ERROR(values.Finish());
  }
  std::ranges::sort(ranks, {}, &RankCommunication::rank);
  return ranks;
}

}  // namespace partita
