// Another framework that trains the same network: a child process that is told how many steps and answers how long.
#ifndef PARTITA_TOOLS_BENCHMARKS_TRAIN_TRAIN_PEER_H_
#define PARTITA_TOOLS_BENCHMARKS_TRAIN_TRAIN_PEER_H_

#include <sys/types.h>

#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace partita {

// Between two calls of Run the child sleeps. Thread-compatible.
class TrainPeer {
 public:
  // `command`: program and arguments. Its first line of output is its version. kInvalidArgument: it does not start.
  static absl::StatusOr<std::unique_ptr<TrainPeer>> Start(const std::vector<std::string>& command);
  TrainPeer(const TrainPeer&) = delete;
  TrainPeer& operator=(const TrainPeer&) = delete;
  // Closes the child's input, at which it ends, and waits for it.
  ~TrainPeer();

  const std::string& version() const { return version_; }

  // Seconds that so many steps took. kInternal: the child has ended or answers something else.
  absl::StatusOr<double> Run(int64_t steps);

 private:
  TrainPeer(pid_t child, FILE* to, FILE* from) : child_(child), to_(to), from_(from) {}
  absl::StatusOr<std::string> ReadLine();

  const pid_t child_;
  FILE* const to_;
  FILE* const from_;
  std::string version_;
};

}  // namespace partita

#endif  // PARTITA_TOOLS_BENCHMARKS_TRAIN_TRAIN_PEER_H_
