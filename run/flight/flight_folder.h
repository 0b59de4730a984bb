// The folder of the records of a job's ranks: DIR/RUN/rank-00003.pbtxt, one RUN for each run that failed.
#ifndef PARTITA_RUN_FLIGHT_FLIGHT_FOLDER_H_
#define PARTITA_RUN_FLIGHT_FLIGHT_FOLDER_H_

#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/flight_recorder/flight_record.h"

namespace partita {

// What a run that begins now is called: "20261123T054740.123Z-4711", by time and process, in the order of time.
std::string NewRunName();

// Whether a name that another process sent can be such a name, and so is the name of a folder and no path.
bool IsRunName(const std::string& name);

// Makes the folder. Errors as of SaveFlightRecord.
absl::Status SaveFlightRecords(const std::vector<FlightRecord>& records, const std::string& folder,
                               const std::string& run);

struct FlightRun {
  std::string folder;
  std::vector<FlightRecord> records;  // by rank; at least one
  std::vector<std::string> unread;    // of each file that is none: which, and why
};

// Of a folder of runs the newest, else the run that the folder is. kInvalidArgument: there is none, or none of its
// files can be read.
absl::StatusOr<FlightRun> LoadFlightRun(const std::string& folder);

}  // namespace partita

#endif  // PARTITA_RUN_FLIGHT_FLIGHT_FOLDER_H_
