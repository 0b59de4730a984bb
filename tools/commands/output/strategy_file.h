// What a search found: for people, and as a strategy file.
#ifndef PARTITA_TOOLS_COMMANDS_OUTPUT_STRATEGY_FILE_H_
#define PARTITA_TOOLS_COMMANDS_OUTPUT_STRATEGY_FILE_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "graph/derive/strategy.h"
#include "partitioner/choose/candidate.h"

namespace partita {

// As LoadStrategy reads it; the extension says the format. In text comments at the beginning say why it is this one.
absl::Status SaveFoundStrategy(const Strategy& strategy, const std::vector<Finalist>& finalists,
                               const std::string& path);

}  // namespace partita

#endif  // PARTITA_TOOLS_COMMANDS_OUTPUT_STRATEGY_FILE_H_
