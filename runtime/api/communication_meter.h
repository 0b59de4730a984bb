// Measures how much of a session's communication is hidden behind computation, from the recorded timelines of its
// training steps.
//
// A rank communicates while one of its collectives runs, including waits for peers. That time is exposed while no
// kernel of the rank runs: then the rank only waits.
#ifndef PARTITA_RUNTIME_API_COMMUNICATION_METER_H_
#define PARTITA_RUNTIME_API_COMMUNICATION_METER_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/api/session.h"

namespace partita {

// Of one rank, in seconds of a step: means over the steps. "gradient": of the collectives whose results the update
// alone reads (GradientMoves).
struct RankCommunication {
  int rank = 0;
  int64_t steps = 0;
  double busy = 0, exposed = 0;
  double gradient_busy = 0, gradient_exposed = 0;
  double gradient_behind_backward = 0;  // of gradient_busy: a kernel of the backward pass ran meanwhile
  // Medians over the steps of the shares hidden: of all behind anything, of gradients behind the backward pass. Of
  // steps without such communication there is none: 1.
  double hidden_share = 1, gradient_hidden_share = 1;
};

// Thread-compatible.
class CommunicationMeter {
 public:
  // From now on the session records on the host; on a GPU only if its options ask for it. The session must outlive the
  // meter.
  explicit CommunicationMeter(Session& session);

  // After a training step.
  void AddStep();

  // By rank, of the ranks of this process that have recorded a step; or (collective) of all processes.
  std::vector<RankCommunication> Local() const;
  absl::StatusOr<std::vector<RankCommunication>> Job() const;

 private:
  struct Rank {
    RankCommunication sums;
    std::vector<double> hidden_shares, gradient_hidden_shares;  // of the steps that had any
  };

  void AddStep(int rank, Rank& sums) const;

  Session& session_;
  const std::vector<bool> gradients_;  // by node
  std::vector<Rank> ranks_;            // of this process
};

}  // namespace partita

#endif  // PARTITA_RUNTIME_API_COMMUNICATION_METER_H_
