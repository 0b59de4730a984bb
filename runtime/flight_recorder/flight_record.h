// The last collectives of a rank, as they are shown, stored in a file and compared with those of other ranks.
#ifndef PARTITA_RUNTIME_FLIGHT_RECORDER_FLIGHT_RECORD_H_
#define PARTITA_RUNTIME_FLIGHT_RECORDER_FLIGHT_RECORD_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace partita {

// One rank's part of one collective.
struct FlownOperation {
  // kWaiting: for a peer; on a GPU always, because no more is known. kFailed: it ended with an error, as every wait
  // does when a rank is lost. kLaunched: the host has enqueued it on a GPU, which has not reached it.
  enum class State : uint8_t { kRunning, kWaiting, kEnded, kFailed, kLaunched };

  int group = 0;
  int64_t sequence = 0;  // sequence number of the rank's calls in the group, from 1
  std::string name;      // "all_reduce"
  int64_t count = 0;     // elements, if all ranks of the group have as many; else -1
  std::string dtype;     // "f32"
  State state = State::kRunning;
  // Nanoseconds since 1970. begin: where it has not begun, when it was launched; end: 0 where it has not ended.
  int64_t begin = 0, end = 0;

  bool has_begun() const { return state != State::kLaunched; }
  bool pending() const { return has_begun() && state != State::kEnded; }
};

struct FlightRecord {
  int rank = 0;
  int ranks = 1;                           // of the job
  int64_t time = 0;                        // nanoseconds since 1970, when it was taken
  std::string fault;                       // why; may be empty
  std::map<int, std::vector<int>> groups;  // the groups that the rank belongs to: their ranks
  std::vector<FlownOperation> operations;  // in the order of their begins, the last ones
};

}  // namespace partita

#endif  // PARTITA_RUNTIME_FLIGHT_RECORDER_FLIGHT_RECORD_H_
