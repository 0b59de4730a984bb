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
  ASSIGN_OR_RETURN(const std::vector<std::string> all, session_->AllGather(packed.bytes()));
  std::vector<MeasuredStep> ranks;
  for (const std::string& process : all) {
    for (PackedReader values(process); !values.AtEnd();) ranks.push_back(values.Next<MeasuredStep>());
  }
  std::ranges::sort(ranks, {}, &MeasuredStep::rank);
  return ranks;
}

}  // namespace partita
