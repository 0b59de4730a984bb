// The flags of the trainer, one line each. A command names those that it takes (tools/program/program.h).
#ifndef PARTITA_TOOLS_TRAINER_FLAGS_H_
#define PARTITA_TOOLS_TRAINER_FLAGS_H_

#include <vector>

#include "tools/program/flags.h"

namespace partita {

std::vector<FlagDefinition> TrainerFlags();

}  // namespace partita

#endif  // PARTITA_TOOLS_TRAINER_FLAGS_H_
