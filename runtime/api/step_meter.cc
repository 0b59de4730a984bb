#include "runtime/api/step_meter.h"

#include <algorithm>
#include <string>

#include "graph/timeline/step_times.h"
#include "runtime/api/job/packed_values.h"
#include "runtime/base/median.h"
#include "runtime/base/status.h"

namespace partita {
namespace {

constexpr size_t kMostSteps = 10'000;

}  // namespace

StepMeter::StepMeter(Session& session) : session_(&session) {
  if (session.gpu_name().empty()) session.RecordTimeline(true);
  for (const int rank : session.local_ranks()) ranks_.push_back({rank, {}, {}, {}});
}

void StepMeter::AddStep() {
  for (Rank& rank : ranks_) {
    const StepTimes times = TimesOf(session_->Timeline(kTrainEntry, rank.rank));
    if (times.step == 0 || rank.step.size() == kMostSteps) continue;
    rank.step.push_back(times.step);
    rank.compute.push_back(times.compute);
    rank.communication.push_back(times.communication);
  }
}

absl::StatusOr<std::vector<MeasuredStep>> StepMeter::Job() const {
  PackedValues packed;
  for (const Rank& rank : ranks_) {
    if (rank.step.empty()) continue;
    packed.Add(MeasuredStep{rank.rank, static_cast<int64_t>(rank.step.size()), Median(rank.step), Median(rank.compute),
                            Median(rank.communication)});
  }
  constexpr MessageKind kKind = MessageKind::kStepTimes;
  ASSIGN_OR_RETURN(const std::vector<std::string> all, session_->AllGather({kKind, packed.bytes()}));
  std::vector<MeasuredStep> ranks;
  for (size_t process = 0; process < all.size(); ++process) {
    PackedReader values(kKind, process, all[process]);
    while (!values.AtEnd()) {
      ranks.push_back(values.Next<MeasuredStep>());
      const int rank = ranks.back().rank;
      if (rank < 0 || rank >= session_->ranks()) values.Refuse(fmt::format("rank {} of {}", rank, session_->ranks()));
    }
    RETURN_IF_ERROR(values.Finish());
  }
  std::ranges::sort(ranks, {}, &MeasuredStep::rank);
  return ranks;
}

}  // namespace partita
