// Writes the last operations of this process's ranks to files when the job fails (--flight-recorder).
//
// Several places notice a failure, and each asks to save the record; the first one counts, because later records only
// show how the job ended. One at a time in a process. Thread-safe.
#ifndef PARTITA_RUN_JOB_FLIGHT_KEEPING_H_
#define PARTITA_RUN_JOB_FLIGHT_KEEPING_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "runtime/flight_recorder/flight_record.h"

namespace partita {

// From now on, where `run` is the same for all processes of the job (NewRunName).
void KeepFlightRecordsIn(const std::string& folder, const std::string& run);

// With the text of `fault`; returns when they are written. Does nothing if nothing was recorded or requested; logs a
// warning if a file cannot be written.
void KeepFlightRecords(std::vector<FlightRecord> records, const absl::Status& fault);

}  // namespace partita

#endif  // PARTITA_RUN_JOB_FLIGHT_KEEPING_H_
