#include "runtime/flight_recorder/flight_recorder.h"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <utility>

namespace partita {

FlightRing& FlightRecorder::Join(int rank, int group, std::vector<int> ranks) {
  const std::lock_guard lock(mutex_);
  std::unique_ptr<Rank>& joined = by_rank_[rank];
  if (joined == nullptr) joined = std::make_unique<Rank>();
  joined->groups[group] = std::move(ranks);
  return joined->ring;
}

std::vector<FlightRecord> FlightRecorder::Read() const {
  const std::lock_guard lock(mutex_);
  std::vector<FlightRecord> records;
  for (const auto& [rank, joined] : by_rank_) {
    FlightRecord& record = records.emplace_back();
    record.rank = rank;
    record.ranks = ranks_;
    record.groups = joined->groups;
    record.operations = joined->ring.Read();
    record.time =
        std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::system_clock::now().time_since_epoch())
            .count();
  }
  return records;
}

void AddRecords(std::vector<FlightRecord> more, std::vector<FlightRecord>& records) {
  for (FlightRecord& added : more) {
    const auto same = std::ranges::find(records, added.rank, &FlightRecord::rank);
    if (same == records.end()) {
      records.push_back(std::move(added));
      continue;
    }
    same->groups.merge(added.groups);
    std::ranges::move(added.operations, std::back_inserter(same->operations));
    std::ranges::stable_sort(same->operations, {}, &FlownOperation::begin);
  }
}

}  // namespace partita
