#include "run/job/flight_keeping.h"

#include <mutex>
#include <utility>

#include "run/flight/flight_folder.h"
#include "run/host/log.h"

namespace partita {
namespace {

struct Place {
  std::mutex mutex;
  std::string folder, run;
};

// Never destroyed: a failure may be noticed while the process ends.
Place& KeptIn() {
  static auto& place = *new Place();
  return place;
}

}  // namespace

void KeepFlightRecordsIn(const std::string& folder, const std::string& run) {
  Place& place = KeptIn();
  const std::lock_guard lock(place.mutex);
  place.folder = folder;
  place.run = run;
}

void KeepFlightRecords(std::vector<FlightRecord> records, const absl::Status& fault) {
  Place& place = KeptIn();
  const std::lock_guard lock(place.mutex);
  const std::string folder = std::exchange(place.folder, "");
  if (folder.empty() || records.empty()) return;
  for (FlightRecord& record : records) record.fault = std::string(fault.message());
  const absl::Status saved = SaveFlightRecords(records, folder, place.run);
  if (!saved.ok()) Warn("what ranks did last is not kept: {}", std::string(saved.message()));
}

}  // namespace partita
