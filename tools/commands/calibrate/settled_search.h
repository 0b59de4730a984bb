// Alternates between searches with a measured profile and measurements of the plans that they find.
#ifndef PARTITA_TOOLS_COMMANDS_CALIBRATE_SETTLED_SEARCH_H_
#define PARTITA_TOOLS_COMMANDS_CALIBRATE_SETTLED_SEARCH_H_

#include <functional>
#include <vector>

#include "absl/status/statusor.h"
#include "graph/derive/strategy.h"
#include "graph/ir/model.h"
#include "partitioner/choose/candidate.h"
#include "partitioner/profile/profile.h"
#include "tools/commands/calibrate/measure_machine.h"

namespace partita {

inline constexpr int kMostSearches = 6;

// The best first, according to that profile.
using SearchByProfile = std::function<absl::StatusOr<std::vector<Finalist>>(const Profile& profile)>;

struct SettledSearch {
  Profile profile;                  // without its key and its time
  std::vector<Finalist> finalists;  // of the last search
  int searches = 0;
  bool settled = false;  // every kernel of the best of them was measured
};

// Of a kernel that was never measured a search guesses the time (op_times), and prefers what that flatters. So what it
// finds is measured, with all else that it compared, and it searches again, until it finds what it knows or has
// searched kMostSearches times. `first`: measured before it searches. Errors: those of MeasureMachine and `search`.
absl::StatusOr<SettledSearch> SearchUntilSettled(const Model& model, const Strategy& first,
                                                 const CalibrationOptions& options, const SearchByProfile& search);

}  // namespace partita

#endif  // PARTITA_TOOLS_COMMANDS_CALIBRATE_SETTLED_SEARCH_H_
