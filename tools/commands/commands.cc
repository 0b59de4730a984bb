#include "tools/commands/commands.h"

#include "run/spec/check_spec.h"
#include "runtime/base/status.h"
#include "tools/commands/output/outputs.h"

namespace partita {

std::vector<Command> TrainerCommands() {
#define COMMAND(name) name(),
  return {
#include "tools/commands/commands.inc"
  };
#undef COMMAND
}

absl::Status CheckRun(const RunSpec& spec, const std::string& command) {
  RETURN_IF_ERROR(CheckSpec(spec, command));
  return CheckOutputs(spec);
}

}  // namespace partita
