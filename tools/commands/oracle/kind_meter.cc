#include "tools/commands/oracle/kind_meter.h"

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
  ASSIGN_OR_RETURN(const std::vector<std::string> all, session_->AllGather(nlohmann::json(here).dump()));
  KindSeconds most;
  for (const std::string& process : all) {
    const nlohmann::json seconds = nlohmann::json::parse(process, nullptr, /*allow_exceptions=*/false);
    if (!seconds.is_object()) return Internal("a rank sent '{}' in place of seconds by kind", process);
    RaiseTo(seconds.get<KindSeconds>(), most);
  }
  return most;
}

}  // namespace partita
