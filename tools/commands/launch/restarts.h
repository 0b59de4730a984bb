// Starting a job again after a failure: how often (launch --max-restarts), and which ranks have failed so far.
#ifndef PARTITA_TOOLS_COMMANDS_LAUNCH_RESTARTS_H_
#define PARTITA_TOOLS_COMMANDS_LAUNCH_RESTARTS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "tools/commands/launch/job_end.h"

namespace partita {

class Restarts {
 public:
  explicit Restarts(int64_t most) : most_(most) {}

  // Decides after each end of a job with this number of ranks whether to start it again.
  bool Follows(const JobEnd& end, int64_t ranks);

  // What is to be said of the last end: why there is another start, or none, and then all failures by rank. Empty: it
  // was no failure, or no restarts were asked for.
  std::string Sentence() const;

 private:
  struct Failure {
    std::string rank;  // "rank 2 of 4"
    std::string how;
  };

  std::string FailuresByRank() const;

  const int64_t most_;
  int64_t begun_ = 0;
  std::vector<Failure> failures_;
  std::string sentence_;
};

}  // namespace partita

#endif  // PARTITA_TOOLS_COMMANDS_LAUNCH_RESTARTS_H_
