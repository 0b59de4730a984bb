#include "run/job/flight_keeper.h"

#include <utility>

#include "run/flight/flight_folder.h"
#include "run/host/log.h"

namespace partita {

void FlightKeeper::KeepIn(const std::string& folder, const std::string& run) {
  const std::lock_guard lock(mutex_);
  folder_ = folder;
  run_ = run;
}

void FlightKeeper::Keep(std::vector<FlightRecord> records, const absl::Status& fault) {
  const std::lock_guard lock(mutex_);
  const std::string folder = std::exchange(folder_, "");
  if (folder.empty() || records.empty()) return;
  for (FlightRecord& record : records) record.fault = std::string(fault.message());
  const absl::Status saved = SaveFlightRecords(records, folder, run_);
  if (!saved.ok()) Warn("what ranks did last is not kept: {}", std::string(saved.message()));
}

}  // namespace partita
