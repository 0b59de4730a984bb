// Writes the last operations of a session's ranks in this process to files when the job fails (--flight-recorder).
//
// Several places notice a failure, and each asks to save the record; the first one counts, because later records only
// show how the job ended. Thread-safe.
#ifndef PARTITA_RUN_JOB_FLIGHT_KEEPER_H_
#define PARTITA_RUN_JOB_FLIGHT_KEEPER_H_

#include <mutex>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "runtime/flight_recorder/flight_record.h"

namespace partita {

class FlightKeeper {
 public:
  // From now on, where `run` is the same for all processes of the job (NewRunName).
  void KeepIn(const std::string& folder, const std::string& run);

  // With the text of `fault`; returns when they are written. Does nothing if nothing was recorded or requested; logs a
  // warning if a file cannot be written.
  void Keep(std::vector<FlightRecord> records, const absl::Status& fault);

 private:
  std::mutex mutex_;
  std::string folder_, run_;
};

}  // namespace partita

#endif  // PARTITA_RUN_JOB_FLIGHT_KEEPER_H_
