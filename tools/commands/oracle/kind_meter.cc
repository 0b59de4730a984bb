#include "tools/commands/oracle/kind_meter.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "runtime/base/median.h"
#include "runtime/base/status.h"

namespace partita {
namespace {

constexpr size_t kMostSteps = 1'000;

}  // namespace

void KindMeter::AddStep() {
  for (const int rank : session_->local_ranks()) {
    Steps& steps = of_rank_[rank];
    for (const auto& [kind, seconds] : KindSecondsOf(session_->Timeline(kTrainEntry, rank), session_->program())) {
      if (steps[kind].size() < kMostSteps) steps[kind].push_back(seconds);
    }
  }
}

absl::StatusOr<KindSeconds> KindMeter::Job() const {
  KindSeconds here;
  for (const auto& [rank, steps] : of_rank_) {
    for (const auto& [kind, seconds] : steps) RaiseTo({{kind, Median(seconds)}}, here);
  }
  ASSIGN_OR_RETURN(const std::vector<std::string> all,
                   session_->AllGather({MessageKind::kKindTimes, nlohmann::json(here).dump()}));
  KindSeconds most;
  for (size_t process = 0; process < all.size(); ++process) {
    const nlohmann::json seconds = nlohmann::json::parse(all[process], nullptr, /*allow_exceptions=*/false);
    if (!seconds.is_object() || !std::ranges::all_of(seconds, [](const auto& value) { return value.is_number(); })) {
      return Unavailable("rank {} sent damaged '{}'; expected an object of seconds by kind", process,
                         NameOf(MessageKind::kKindTimes));
    }
    RaiseTo(seconds.get<KindSeconds>(), most);
  }
  return most;
}

}  // namespace partita
