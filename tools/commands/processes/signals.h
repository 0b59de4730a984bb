// SIGINT and SIGTERM as a flag that the trainer looks at between two steps.
#ifndef PARTITA_TOOLS_COMMANDS_PROCESSES_SIGNALS_H_
#define PARTITA_TOOLS_COMMANDS_PROCESSES_SIGNALS_H_

#include <atomic>

namespace partita {

// From now on the first of these signals sets the flag to its number; a second one ends the process at once.
const std::atomic<int>& StopOnSignals();

// 128 + the signal's number.
int ExitCodeOfSignal(int signal);

}  // namespace partita

#endif  // PARTITA_TOOLS_COMMANDS_PROCESSES_SIGNALS_H_
