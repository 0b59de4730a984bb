#include "tools/commands/processes/set_up.h"

#include <string>

#include "runtime/telemetry/log.h"
#include "tools/program/start/nccl_variables.h"

namespace partita {

absl::Status SetUpProcess(const RunSpec& spec) {
  if (spec.execution().device() == "cuda" && spec.execution().deterministic()) ExcludeNvls();
  const std::string& level = spec.output().log();
  return SetUpLog(level == "warning" ? "warn" : level);
}

}  // namespace partita
