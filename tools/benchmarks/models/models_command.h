// The commands `benchmark models`, and `benchmark loop`, which that starts.
#ifndef PARTITA_TOOLS_BENCHMARKS_MODELS_MODELS_COMMAND_H_
#define PARTITA_TOOLS_BENCHMARKS_MODELS_MODELS_COMMAND_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "tools/program/program.h"

namespace partita {

std::vector<std::string> ModelsFlags();
absl::StatusOr<int> RunModels(const CommandContext& context);

std::vector<std::string> LoopCommandFlags();
absl::StatusOr<int> RunLoop(const CommandContext& context);

}  // namespace partita

#endif  // PARTITA_TOOLS_BENCHMARKS_MODELS_MODELS_COMMAND_H_
