#include "tools/program/run_main.h"

#include <fcntl.h>
#include <unistd.h>

#include <csignal>
#include <iostream>

#include "tools/program/exit_code.h"
#include "tools/program/queued_output.h"

namespace partita {
namespace {

// For a reader of the results of a program that ends before its time.
constexpr std::chrono::milliseconds kLastPatience(1000);

// Whatever is opened next would have the number of a standard file that is closed, and be written to in its place. A
// file that can only be read takes the number: who writes to it is told.
void KeepStandardFiles() {
  for (const int descriptor : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (fcntl(descriptor, F_GETFD) < 0 && open("/dev/null", O_RDONLY) < 0) return;
  }
}

// By default they would end a program with code 138, which says that a peer is gone. They have been
// blocked until now, by the program's first function (clean_start.cc) or by who started it (`launch`).
void TakeWarningsAsTermination() {
  struct sigaction action {};
  action.sa_handler = [](int) { std::raise(SIGTERM); };
  action.sa_flags = SA_RESTART;
  for (const int signal : kWarningSignals) {
    struct sigaction inherited {};
    if (sigaction(signal, nullptr, &inherited) == 0 && inherited.sa_handler == SIG_IGN) continue;
    sigaction(signal, &action, nullptr);
  }
  const sigset_t warnings = WarningSignalSet();
  pthread_sigmask(SIG_UNBLOCK, &warnings, nullptr);
}

}  // namespace

int RunMain(const ProgramDefinition& program, int argc, char** argv) {
  KeepStandardFiles();
  TakeWarningsAsTermination();
  std::signal(SIGXFSZ, SIG_IGN);  // write() then says EFBIG
  std::signal(SIGPIPE, SIG_IGN);  // and EPIPE: what a program does is not lost because nobody reads what it says
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  QueuedOutput out(STDOUT_FILENO);
  const int code = RunProgram(program, arguments, SystemFlagEnvironment(program.name), out, std::cerr);
  const bool ended_early = code >= 128;  // by a signal, or a peer is gone
  const absl::Status written = out.Finish(ended_early ? std::optional(kLastPatience) : std::nullopt);
  if (written.ok()) return code;
  std::cerr << program.name << ": standard output cannot be written: " << std::string(written.message()) << "\n";
  return code == kExitFinished ? kExitResources : code;
}

}  // namespace partita
