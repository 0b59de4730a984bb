// A process that repeats some work on request and reports how long it took: another framework that trains the same
// network, or ours beside it.
//
// Its first line says what it is, once it has loaded its libraries and made nothing yet; `ready` follows. Each line
// that it is given, a number of steps for instance, it answers with one.
#ifndef PARTITA_TOOLS_BENCHMARKS_TIMED_PROCESS_H_
#define PARTITA_TOOLS_BENCHMARKS_TIMED_PROCESS_H_

#include <sys/types.h>

#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace partita {

// Between two calls the child sleeps. Thread-compatible.
class TimedProcess {
 public:
  // `command`: program and arguments. `variables`: "NAME=value", over those of this process. kInvalidArgument: it does
  // not start; what Ask says.
  static absl::StatusOr<std::unique_ptr<TimedProcess>> Start(const std::vector<std::string>& command,
                                                             const std::vector<std::string>& variables = {});
  TimedProcess(const TimedProcess&) = delete;
  TimedProcess& operator=(const TimedProcess&) = delete;
  // Closes the child's input, at which it ends, and waits for it.
  ~TimedProcess();

  const std::string& version() const { return version_; }

  // What it answers to a line. kInternal: the child has ended; kResourceExhausted: with exit code 4, as our programs do
  // where something does not fit. Why, it says itself, on standard error.
  absl::StatusOr<std::string> Ask(const std::string& line);
  // The seconds that this number of steps took. kInternal also if the answer is malformed.
  absl::StatusOr<double> Run(int64_t steps);

  // Bytes in memory, the most until now: of the whole process, or less what there was with its first line.
  int64_t MostMemory() const;
  int64_t GrownMemory() const;

 private:
  TimedProcess(pid_t child, FILE* to, FILE* from) : child_(child), to_(to), from_(from) {}
  absl::Status Greet();
  absl::StatusOr<std::string> ReadLine();
  absl::Status Ended();
  int Wait();

  const pid_t child_;
  FILE* const to_;
  FILE* const from_;
  std::string version_;
  int64_t memory_at_start_ = 0;
  bool waited_ = false;  // for its end
};

}  // namespace partita

#endif  // PARTITA_TOOLS_BENCHMARKS_TIMED_PROCESS_H_
