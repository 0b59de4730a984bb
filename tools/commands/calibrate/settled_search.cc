#include "tools/commands/calibrate/settled_search.h"

#include <set>
#include <string>
#include <utility>

#include "graph/proto_io/proto_io.h"
#include "runtime/base/status.h"

namespace partita {
namespace {

std::string KeyOf(const Strategy& strategy) { return PrintStrategy(strategy, ProtoFormat::kText); }

}  // namespace

absl::StatusOr<SettledSearch> SearchUntilSettled(const Model& model, const Strategy& first,
                                                 const CalibrationOptions& options, const SearchByProfile& search) {
  SettledSearch result;
  ASSIGN_OR_RETURN(result.profile, MeasureMachine(model, {&first, 1}, options));
  // These do not depend on the strategy.
  const std::vector<CollectiveTime> collectives = result.profile.collectives;
  CalibrationOptions again = options;
  again.collectives = false;
  std::vector<Strategy> measured = {first};
  std::set<std::string> known = {KeyOf(first)};
  for (;;) {
    ++result.searches;
    ASSIGN_OR_RETURN(result.finalists, search(result.profile));
    result.settled = !result.finalists.empty() && known.contains(KeyOf(result.finalists[0].candidate.strategy));
    if (result.settled || result.searches == kMostSearches) return result;
    for (const Finalist& finalist : result.finalists) {
      const Strategy& strategy = finalist.candidate.strategy;
      if (finalist.status.ok() && known.insert(KeyOf(strategy)).second) measured.push_back(strategy);
    }
    ASSIGN_OR_RETURN(result.profile, MeasureMachine(model, measured, again));
    result.profile.collectives = collectives;
  }
}

}  // namespace partita
