#include "runtime/flight_recorder/waits.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <set>

namespace partita {
namespace {

using State = FlownOperation::State;

const FlightRecord* Find(std::span<const FlightRecord> records, int rank) {
  const auto found = std::ranges::lower_bound(records, rank, {}, &FlightRecord::rank);
  return found == records.end() || found->rank != rank ? nullptr : &*found;
}

// In time: where a job is ended, ranks still come to collectives that have failed.
bool HasCome(const FlightRecord& record, const FlownOperation& operation) {
  // The last ones first.
  return std::any_of(record.operations.rbegin(), record.operations.rend(), [&](const FlownOperation& own) {
    const bool in_time = operation.end == 0 || own.begin <= operation.end;
    return own.has_begun() && own.group == operation.group && own.sequence >= operation.sequence && in_time;
  });
}

const FlownOperation* Counterpart(const FlightRecord& record, const FlownOperation& operation) {
  const auto found = std::ranges::find_if(record.operations, [&](const FlownOperation& own) {
    return own.group == operation.group && own.sequence == operation.sequence;
  });
  return found == record.operations.end() ? nullptr : &*found;
}

// Of an operation that all have come to: one who is still at work there.
const FlightRecord* AtWorkIn(std::span<const FlightRecord> records, const FlownOperation& operation) {
  const auto at_work = std::ranges::find_if(records, [&](const FlightRecord& record) {
    const FlownOperation* const own = Counterpart(record, operation);
    return own != nullptr && own->state == State::kRunning;
  });
  return at_work == records.end() ? nullptr : &*at_work;
}

// Depth first; nothing: all that it comes to was seen before.
std::optional<int> FindRoot(std::span<const FlightRecord> records, int rank, std::set<int>& seen) {
  if (!seen.insert(rank).second) return std::nullopt;
  const FlightRecord* const record = Find(records, rank);
  if (record == nullptr) return rank;
  const std::vector<const FlownOperation*> pending = PendingOf(*record);
  if (pending.empty()) return rank;
  const std::vector<int> missing = MissingIn(records, *record, *pending.back());
  if (missing.empty()) {
    const FlightRecord* const at_work = AtWorkIn(records, *pending.back());
    return at_work == nullptr ? rank : at_work->rank;
  }
  for (const int other : missing) {
    if (const std::optional<int> root = FindRoot(records, other, seen)) return root;
  }
  return std::nullopt;
}

}  // namespace

std::vector<const FlownOperation*> PendingOf(const FlightRecord& record) {
  std::vector<const FlownOperation*> pending;
  for (const FlownOperation& operation : record.operations) {
    if (operation.pending()) pending.push_back(&operation);
  }
  return pending;
}

std::vector<int> MissingIn(std::span<const FlightRecord> records, const FlightRecord& record,
                           const FlownOperation& operation) {
  const auto group = record.groups.find(operation.group);
  if (group == record.groups.end()) return {};
  std::vector<int> missing, unknown;
  for (const int rank : group->second) {
    const FlightRecord* const other = Find(records, rank);
    if (other == nullptr) {
      unknown.push_back(rank);
    } else if (!HasCome(*other, operation)) {
      missing.push_back(rank);
    }
  }
  return missing.empty() ? unknown : missing;
}

int RootOfWait(std::span<const FlightRecord> records, int rank) {
  std::set<int> seen;
  return FindRoot(records, rank, seen).value_or(rank);
}

std::string Describe(const FlownOperation& operation) {
  const std::string size = operation.count < 0 ? "" : fmt::format(" of {} {}", operation.count, operation.dtype);
  return fmt::format("{}{} (sequence number {})", operation.name, size, operation.sequence);
}

std::string GroupName(const FlightRecord& record, int group) {
  if (group < 0) return "the exchange between processes";
  const auto ranks = record.groups.find(group);
  if (ranks == record.groups.end()) return fmt::format("group {}", group);
  return fmt::format("group {} [{}]", group, fmt::join(ranks->second, ","));
}

}  // namespace partita
