// Reads and writes the record of a rank as a file (proto/flight.proto).
#ifndef PARTITA_RUN_FLIGHT_FLIGHT_FILE_H_
#define PARTITA_RUN_FLIGHT_FLIGHT_FILE_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/flight_recorder/flight_record.h"

namespace partita {

// Whole or not at all; the name's ending says the form. kInvalidArgument, kResourceExhausted: it cannot be written.
absl::Status SaveFlightRecord(const FlightRecord& record, const std::string& path);

// kInvalidArgument: file and field, what was found, what is allowed.
absl::StatusOr<FlightRecord> LoadFlightRecord(const std::string& path);

}  // namespace partita

#endif  // PARTITA_RUN_FLIGHT_FLIGHT_FILE_H_
