#include "tools/commands/processes/armed_fail_points.h"

#include <cstdlib>

#include "runtime/base/status.h"
#include "runtime/fail_points/fail_point.h"
#include "tools/program/exit_code.h"

namespace partita {

absl::Status ArmFailPointsOf(const Environment& environment) {
  const std::optional<std::string> text = environment(kFailPointVariable);
  if (!text) return absl::OkStatus();
  ASSIGN_OR_RETURN(const std::optional<JobPlace> place, FindPlace(environment));
  FailPointProcess process;
  if (place) process.rank = place->rank;
  process.start = std::strtoll(environment(kStartVariable).value_or("0").c_str(), nullptr, 10);
  const absl::Status armed = ArmFailPoints(*text, process);
  if (armed.ok()) return armed;
  return FlagError("variable {}: {}", kFailPointVariable, std::string(armed.message()));
}

}  // namespace partita
