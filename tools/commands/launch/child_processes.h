// The processes of a job on this machine, started together and ended together.
#ifndef PARTITA_TOOLS_COMMANDS_LAUNCH_CHILD_PROCESSES_H_
#define PARTITA_TOOLS_COMMANDS_LAUNCH_CHILD_PROCESSES_H_

#include <sys/types.h>

#include <chrono>
#include <map>
#include <optional>
#include <ostream>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "tools/commands/launch/job_end.h"
#include "tools/commands/launch/process_log.h"

namespace partita {

// Thread-compatible; one at a time in a process, as signals are the process's.
class ChildProcesses {
 public:
  // What children write goes to `out` and `error` line by line, as "[2] line"; what child 0 writes to its standard
  // output goes through as it is. An error that several children report in the same words goes through once.
  ChildProcesses(std::ostream& out, std::ostream& error) : out_(out), error_(error) {}
  // Ends those that still run.
  ~ChildProcesses();

  // Runs `arguments` (the program's path first) with these variables in addition to those of this process. The child
  // ends when this process ends for any reason. `log`: a file for its unchanged output; none: the output is not stored.
  // kResourceExhausted: no more processes.
  absl::Status Start(const std::vector<std::string>& arguments, const std::map<std::string, std::string>& variables,
                     std::optional<ProcessLog> log);

  // Waits until all have ended, passing on SIGINT, SIGTERM, SIGHUP and SIGQUIT, also to stopped children; children that
  // still run a while after the second signal of a kind are killed. When one fails, or has ended by a signal, the
  // others have a moment to exit by themselves. Then they receive SIGUSR1, and their exit code says that a peer is gone
  // (exit_code.h); a rank that writes a file completes it first. After minutes they are killed. The exit code is that
  // of the one that failed first (128 + signal if it was ended by one), or 0; kExitResources if all finished and a log
  // could not be written.
  JobEnd Wait();

 private:
  using Clock = std::chrono::steady_clock;

  struct Pipe {
    int fd = -1;  // -1: ended
    std::string line;
  };
  struct Child {
    pid_t pid = 0;
    int handle = -1;  // pidfd; -1: ended
    Pipe out, error;
    std::optional<ProcessLog> log;
    bool stopped = false;   // when it was asked to end
    bool said_why = false;  // the error that ended it
  };

  bool Running() const;
  void Log(Child& child, const std::string& text);
  void Poll(std::chrono::milliseconds timeout);
  void ReadPipe(size_t child, Pipe& pipe, std::ostream& stream, bool plain);
  bool IsRepeated(Child& child, const std::string& line);
  void SayFailure();
  void Reap(size_t child);
  void PassOnSignals();
  void EndTheLate();
  void Ask();
  void Signal(int signal) const;

  std::ostream& out_;
  std::ostream& error_;
  std::vector<Child> children_;
  JobEnd end_;
  Clock::time_point first_end_;        // if end_.code is not 0
  size_t failed_ = 0;                  // the first that did
  std::string failure_;                // how it ended; empty: that was said
  std::set<std::string> errors_said_;  // by children, which several may say alike
  bool asked_ = false;                 // by SIGUSR1
  bool log_failed_ = false;
  int passed_on_ = 0;        // the last signal
  std::map<int, int> told_;  // how often, by signal
  std::optional<Clock::time_point> kill_at_;
};

}  // namespace partita

#endif  // PARTITA_TOOLS_COMMANDS_LAUNCH_CHILD_PROCESSES_H_
