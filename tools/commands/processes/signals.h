// The signal handling of a command, while one of these objects exists.
#ifndef PARTITA_TOOLS_COMMANDS_PROCESSES_SIGNALS_H_
#define PARTITA_TOOLS_COMMANDS_PROCESSES_SIGNALS_H_

#include <atomic>
#include <csignal>
#include <span>
#include <utility>
#include <vector>

namespace partita {

// While it lives, `handler` is called for each of the signals; then they mean what they meant before. A SIGHUP that
// this process was started to ignore (nohup) stays ignored, and so does a warning (tools/program/exit_code.h).
class HandledSignals {
 public:
  HandledSignals(std::span<const int> signals, void (*handler)(int), int spec);
  HandledSignals(const HandledSignals&) = delete;
  HandledSignals& operator=(const HandledSignals&) = delete;
  ~HandledSignals();

 private:
  std::vector<std::pair<int, struct sigaction>> before_;
};

// SIGHUP, SIGINT and SIGTERM as a flag that the trainer looks at between two steps. The first of them sets the flag to
// its number; a second one of the kind ends the process at once, as any does before and afterwards. Warnings count as
// SIGTERM, however many there are, and end nothing afterwards. One at a time in a process.
class StopSignals {
 public:
  StopSignals();

  const std::atomic<int>& flag() const;

 private:
  const HandledSignals handled_;
};

// 128 + the signal's number; of a warning, that of SIGTERM.
int ExitCodeOfSignal(int signal);

}  // namespace partita

#endif  // PARTITA_TOOLS_COMMANDS_PROCESSES_SIGNALS_H_
