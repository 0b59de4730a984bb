// A process that repeats some work on request and reports how long it took: another framework that trains the same
// network, or ours beside it.
//
// Its first line says what it is, once it has loaded its libraries and made nothing yet; `ready` follows. Each line
// that it is given, a number of steps for instance, it answers with one.
#ifndef PARTITA_TOOLS_BENCHMARKS_TIMED_PROCESS_H_
#define PARTITA_TOOLS_BENCHMARKS_TIMED_PROCESS_H_

#include <sys/types.h>

#include <chrono>
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
  // No round that is worth measuring takes longer.
  static constexpr std::chrono::seconds kLongestWait{1800};

  // `command`: program and arguments. `variables`: "NAME=value", over those of this process. `longest_wait`: for each
  // line. kInvalidArgument: it does not start; what Ask says.
  static absl::StatusOr<std::unique_ptr<TimedProcess>> Start(const std::vector<std::string>& command,
                                                             const std::vector<std::string>& variables = {},
                                                             std::chrono::milliseconds longest_wait = kLongestWait);
  TimedProcess(const TimedProcess&) = delete;
  TimedProcess& operator=(const TimedProcess&) = delete;
  // Closes the child's input, at which it ends, and waits for it; kills it if it does not end within 10 seconds.
  ~TimedProcess();

  const std::string& version() const { return version_; }

  // What it answers to a line. kInternal: the child has ended; kResourceExhausted: with exit code 4, as our programs do
  // where something does not fit. Why, it says itself, on standard error. kDeadlineExceeded: no answer in time; then it
  // is killed.
  absl::StatusOr<std::string> Ask(const std::string& line);
  // The seconds that this number of steps took. kInternal also if the answer is malformed.
  absl::StatusOr<double> Run(int64_t steps);

  // Bytes in memory, the most until now: of the whole process, or less what there was with its first line.
  int64_t MostMemory() const;
  int64_t GrownMemory() const;

 private:
  TimedProcess(pid_t child, FILE* to, int from, std::chrono::milliseconds longest_wait)
      : child_(child), to_(to), from_(from), longest_wait_(longest_wait) {}
  absl::Status Greet();
  absl::StatusOr<std::string> ReadLine();
  // Whether there is more to read before the deadline; kDeadlineExceeded: there is not, and the child was killed.
  absl::Status AwaitOutput(std::chrono::steady_clock::time_point deadline);
  absl::Status Ended();
  bool EndsWithin(std::chrono::milliseconds time);
  int Wait();

  const pid_t child_;
  FILE* const to_;
  const int from_;
  const std::chrono::milliseconds longest_wait_;
  std::string read_;  // behind the last line
  std::string version_;
  int64_t memory_at_start_ = 0;
  bool waited_ = false;  // for its end
};

}  // namespace partita

#endif  // PARTITA_TOOLS_BENCHMARKS_TIMED_PROCESS_H_
