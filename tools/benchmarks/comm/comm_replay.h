// Calls of one collective that are captured once and replayed in every round, as in training.
#ifndef PARTITA_TOOLS_BENCHMARKS_COMM_COMM_REPLAY_H_
#define PARTITA_TOOLS_BENCHMARKS_COMM_COMM_REPLAY_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/device/device.h"
#include "tools/benchmarks/comm/comm_cases.h"
#include "tools/benchmarks/comm/comm_ranks.h"

namespace partita {

// Thread-compatible; the ranks must outlive it.
class CommReplay {
 public:
  // This number of calls, one after the other, on a buffer with this number of bytes (f32).
  static absl::StatusOr<std::shared_ptr<CommReplay>> Capture(CommRanks& ranks, const CommCase& what, int64_t bytes,
                                                             int64_t calls);

  // Seconds of a call.
  absl::StatusOr<double> Run();

 private:
  int64_t calls_ = 0;
  std::vector<std::unique_ptr<CapturedStep>> steps_;
};

}  // namespace partita

#endif  // PARTITA_TOOLS_BENCHMARKS_COMM_COMM_REPLAY_H_
