// The file of --load: what is taken from it, known before there is a session.
#ifndef PARTITA_TOOLS_COMMANDS_INPUT_LOADED_MODEL_H_
#define PARTITA_TOOLS_COMMANDS_INPUT_LOADED_MODEL_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "graph/ir/model.h"
#include "runtime/train/model_file.h"
#include "tools/commands/input/beginning.h"
#include "tools/program/flags.h"

namespace partita {

// Flags that OpenLoaded reads.
std::vector<std::string> LoadFlags();  // load, load-weights-only

struct LoadedModel {
  ModelFile file;
  States states = States::kAll;

  Beginning beginning() const;
};

// Empty without --load. `trains`: training resumes from a file with a training state; other commands read what
// evaluation needs. kInvalidArgument: a file that does not fit the graph, or has images or classes that the graph does
// not accept.
absl::StatusOr<std::optional<LoadedModel>> OpenLoaded(const Flags& flags, const Model& model, bool trains);

}  // namespace partita

#endif  // PARTITA_TOOLS_COMMANDS_INPUT_LOADED_MODEL_H_
