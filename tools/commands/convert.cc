// `trainer convert`: a checkpoint, whatever the ranks were that wrote it, as one file that everybody reads.
#include "runtime/checkpoint/sharded/convert.h"

#include <vector>

#include "runtime/base/counted.h"
#include "runtime/checkpoint/sharded/checkpoint_folder.h"
#include "tools/commands/commands.h"
#include "tools/commands/output/outputs.h"
#include "tools/program/exit_code.h"

namespace partita {
namespace {

absl::StatusOr<int> Convert(const ContextOf<RunSpec>& context) {
  const RunSpec& spec = context.spec;
  if (!spec.predict().has_output()) return FlagError("convert needs --output=FILE: where the model is to be written");
  RETURN_IF_ERROR(CheckOutputs(spec));
  std::string folder = spec.model().graph();
  ASSIGN_OR_RETURN(const std::vector<int64_t> steps, CheckpointSteps(SystemDisk(), ResolveLink(folder)));
  if (!steps.empty()) folder = StepFolder(folder, steps.back());  // --checkpoint of a run: the newest of its folder
  ASSIGN_OR_RETURN(const SavedCheckpoint checkpoint, SavedCheckpoint::Open(folder));
  RETURN_IF_ERROR(ConvertCheckpoint(checkpoint, spec.predict().output()));
  context.out << fmt::format("{}: {} of step {}, from {}\n", spec.predict().output(),
                             Counted(checkpoint.record().states.size(), "state"), checkpoint.record().step, folder);
  return kExitFinished;
}

}  // namespace

Command ConvertCommand() {
  return {"convert", "write a checkpoint as one .safetensors file", "CHECKPOINT", Runs<RunSpec>(Convert)};
}

}  // namespace partita
