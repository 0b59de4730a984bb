#include "tools/commands/processes/flight_keeping.h"

#include <spdlog/spdlog.h>

#include <mutex>
#include <utility>

#include "tools/commands/flight/flight_folder.h"

namespace partita {
namespace {

std::mutex mutex;
std::string& Folder() {
  static auto& folder = *new std::string();
  return folder;
}
std::string& Run() {
  static auto& run = *new std::string();
  return run;
}

}  // namespace

void KeepFlightRecordsIn(const std::string& folder, const std::string& run) {
  const std::lock_guard lock(mutex);
  Folder() = folder;
  Run() = run;
}

void KeepFlightRecords(std::vector<FlightRecord> records, const absl::Status& fault) {
  const std::lock_guard lock(mutex);
  const std::string folder = std::exchange(Folder(), "");
  if (folder.empty() || records.empty()) return;
  for (FlightRecord& record : records) record.fault = std::string(fault.message());
  const absl::Status saved = SaveFlightRecords(records, folder, Run());
  if (!saved.ok()) spdlog::warn("what ranks did last is not kept: {}", std::string(saved.message()));
}

}  // namespace partita
