// The end of another rank ends this process, but not what it writes: a model is not lost because a peer is.
#ifndef PARTITA_TOOLS_COMMANDS_PROCESSES_FINISH_WRITING_H_
#define PARTITA_TOOLS_COMMANDS_PROCESSES_FINISH_WRITING_H_

#include <memory>

#include "tools/commands/processes/signals.h"

namespace partita {

// The signal by which `launch` asks a rank to end because another one has failed. A real-time signal: its number is no
// exit code that means something else.
int AskingSignal();

// While it lives, this process ends neither by ExitWhenWritten nor by AskingSignal; what of the two came ends it
// afterwards. One at a time in a process.
class FinishWriting {
 public:
  FinishWriting();
  FinishWriting(const FinishWriting&) = delete;
  FinishWriting& operator=(const FinishWriting&) = delete;
  ~FinishWriting();

 private:
  const HandledSignals asked_;
};

// One that lives as long as the result (run/train/training_run.h).
std::shared_ptr<const void> BeginFinishWriting();

// _exit(code) when nothing is being written any more, with a line on standard error. Any thread.
[[noreturn]] void ExitWhenWritten(int code, const char* line);

}  // namespace partita

#endif  // PARTITA_TOOLS_COMMANDS_PROCESSES_FINISH_WRITING_H_
