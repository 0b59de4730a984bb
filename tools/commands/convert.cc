// `trainer convert`: a checkpoint, whatever the ranks were that wrote it, as one file that everybody reads.
#include "runtime/checkpoint/sharded/convert.h"

#include <vector>

#include "runtime/checkpoint/sharded/checkpoint_folder.h"
#include "tools/commands/commands.h"
#include "tools/program/exit_code.h"

namespace partita {
namespace {

absl::StatusOr<int> Convert(const ContextOf<RunSpec>& context) {
  const RunSpec& spec = context.spec;
  const std::string& folder = spec.model().graph();
  ASSIGN_OR_RETURN(const std::vector<int64_t> steps, CheckpointSteps(SystemDisk(), ResolveLink(folder)));
  if (!steps.empty()) {
    return InvalidArgument("{}: is a folder of checkpoints; expected one checkpoint, e.g. {}", folder,
                           StepFolder(folder, steps.back()));
  }
  ASSIGN_OR_RETURN(const SavedCheckpoint checkpoint, SavedCheckpoint::Open(folder));
  RETURN_IF_ERROR(ConvertCheckpoint(checkpoint, spec.predict().output()));
  context.out << fmt::format("{}: {} states of step {}\n", spec.predict().output(), checkpoint.record().states.size(),
                             checkpoint.record().step);
  return kExitFinished;
}

}  // namespace

Command ConvertCommand() {
  return {"convert", "write a checkpoint as one .safetensors file", "CHECKPOINT", Runs<RunSpec>(Convert)};
}

}  // namespace partita
