// Fail points of this process, as its environment arms them.
#ifndef PARTITA_TOOLS_COMMANDS_PROCESSES_ARMED_FAIL_POINTS_H_
#define PARTITA_TOOLS_COMMANDS_PROCESSES_ARMED_FAIL_POINTS_H_

#include "absl/status/status.h"
#include "run/job/launcher.h"

namespace partita {

inline constexpr char kFailPointVariable[] = "PARTITA_FAIL_POINTS";

// Before anything runs. FlagError: the variable says what cannot be armed, or launchers contradict each other.
absl::Status ArmFailPointsOf(const Environment& environment);

}  // namespace partita

#endif  // PARTITA_TOOLS_COMMANDS_PROCESSES_ARMED_FAIL_POINTS_H_
