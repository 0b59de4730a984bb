// What the ranks of this process did last, kept in files when the job fails (--flight-recorder).
//
// A failure is noticed in several places, which are all told to keep what they know; the first one counts, as what is
// recorded later is how the job ended. One at a time in a process. Thread-safe.
#ifndef PARTITA_TOOLS_COMMANDS_PROCESSES_FLIGHT_KEEPING_H_
#define PARTITA_TOOLS_COMMANDS_PROCESSES_FLIGHT_KEEPING_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "runtime/flight_recorder/flight_record.h"

namespace partita {

// From now on, where `run` is the same for all processes of the job (NewRunName).
void KeepFlightRecordsIn(const std::string& folder, const std::string& run);

// With what `fault` says; returns when they are written. Nothing, if nothing was recorded or nobody asked for it; what
// cannot be written is warned of.
void KeepFlightRecords(std::vector<FlightRecord> records, const absl::Status& fault);

}  // namespace partita

#endif  // PARTITA_TOOLS_COMMANDS_PROCESSES_FLIGHT_KEEPING_H_
