// Records the collectives of the ranks of a process: a ring for each rank, and the members of groups.
#ifndef PARTITA_RUNTIME_FLIGHT_RECORDER_FLIGHT_RECORDER_H_
#define PARTITA_RUNTIME_FLIGHT_RECORDER_FLIGHT_RECORDER_H_

#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "runtime/flight_recorder/flight_record.h"
#include "runtime/flight_recorder/flight_ring.h"

namespace partita {

// Thread-safe.
class FlightRecorder {
 public:
  // `ranks`: of the job.
  explicit FlightRecorder(int ranks) : ranks_(ranks) {}

  // Registers that `rank`, which lives here, joins a group. Returns its ring, valid for the lifetime of the recorder.
  FlightRing& Join(int rank, int group, std::vector<int> ranks);

  // Of each rank that has joined a group, by rank; without a fault.
  std::vector<FlightRecord> Read() const;

 private:
  struct Rank {
    FlightRing ring;
    std::map<int, std::vector<int>> groups;
  };

  const int ranks_;
  mutable std::mutex mutex_;
  std::map<int, std::unique_ptr<Rank>> by_rank_;
};

// Puts what the same ranks have recorded elsewhere, in other groups, beside it; the records of others to the end.
void AddRecords(std::vector<FlightRecord> more, std::vector<FlightRecord>& records);

}  // namespace partita

#endif  // PARTITA_RUNTIME_FLIGHT_RECORDER_FLIGHT_RECORDER_H_
