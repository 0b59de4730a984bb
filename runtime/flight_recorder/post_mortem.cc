#include "runtime/flight_recorder/post_mortem.h"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <ctime>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "runtime/flight_recorder/waits.h"

namespace partita {
namespace {

constexpr double kNanoseconds = 1e-9;

double SecondsBetween(int64_t begin, int64_t end) { return static_cast<double>(end - begin) * kNanoseconds; }

// "rank 2", "ranks 0 and 3", "ranks 0, 1 and 3".
std::string RanksText(const std::vector<int>& ranks) {
  if (ranks.size() == 1) return fmt::format("rank {}", ranks.front());
  return fmt::format("ranks {} and {}", fmt::join(ranks.begin(), ranks.end() - 1, ", "), ranks.back());
}

std::vector<int> WithoutRecord(std::span<const FlightRecord> records) {
  std::vector<int> without;
  for (int rank = 0; rank < records.front().ranks; ++rank) {
    if (std::ranges::find(records, rank, &FlightRecord::rank) == records.end()) without.push_back(rank);
  }
  return without;
}

// One rank's call and another's that cannot be parts of one collective.
struct Mismatch {
  const FlightRecord *a, *b;
  const FlownOperation *of_a, *of_b;
};

bool Differ(const FlownOperation& a, const FlownOperation& b) {
  return a.name != b.name || (a.count >= 0 && b.count >= 0 && (a.count != b.count || a.dtype != b.dtype));
}

// The first in its group; of several groups the one that was called first.
std::optional<Mismatch> FindMismatch(std::span<const FlightRecord> records) {
  std::map<std::pair<int, int64_t>, std::pair<const FlightRecord*, const FlownOperation*>> calls;
  std::optional<Mismatch> first;
  for (const FlightRecord& record : records) {
    for (const FlownOperation& operation : record.operations) {
      const auto [call, is_new] = calls.try_emplace({operation.group, operation.sequence}, &record, &operation);
      if (is_new || !Differ(*call->second.second, operation)) continue;
      if (first && first->of_b->begin <= operation.begin) continue;
      first = {call->second.first, &record, call->second.second, &operation};
    }
  }
  return first;
}

PostMortem Of(const Mismatch& mismatch) {
  PostMortem found{PostMortem::Cause::kMismatch, {mismatch.a->rank, mismatch.b->rank}, ""};
  std::ranges::sort(found.ranks);
  found.sentence = fmt::format("in {} rank {} called {} and rank {} {}, which cannot meet",
                               GroupName(*mismatch.a, mismatch.of_a->group), mismatch.a->rank, Describe(*mismatch.of_a),
                               mismatch.b->rank, Describe(*mismatch.of_b));
  return found;
}

// Ranks in one operation that did not end.
struct Wait {
  const FlightRecord* record;  // of the first of them
  const FlownOperation* operation;
  std::vector<int> ranks;
  int64_t begin = 0, end = 0;  // when the first came; when it failed, or was given up
};

Wait WaitFor(std::span<const FlightRecord> records, int root) {
  std::map<std::pair<int, int64_t>, Wait> waits;
  for (const FlightRecord& record : records) {
    if (record.rank == root || RootOfWait(records, record.rank) != root) continue;
    const FlownOperation& operation = *PendingOf(record).back();
    const int64_t end = operation.end != 0 ? operation.end : record.time;
    Wait& wait =
        waits.try_emplace({operation.group, operation.sequence}, Wait{&record, &operation, {}, operation.begin, end})
            .first->second;
    wait.ranks.push_back(record.rank);
    wait.begin = std::min(wait.begin, operation.begin);
    wait.end = std::max(wait.end, end);
  }
  // Who waits for it directly came first.
  return std::ranges::min_element(waits, {}, [](const auto& entry) { return entry.second.begin; })->second;
}

// What a GPU should have come to next.
std::string NextOf(const FlightRecord& record) {
  const auto next = std::ranges::find_if(record.operations, [](const auto& own) { return !own.has_begun(); });
  if (next == record.operations.end()) return "";
  return fmt::format(", and its GPU had not come to {} of {}", Describe(*next), GroupName(record, next->group));
}

std::string LastOf(const FlightRecord& record, int64_t until) {
  if (const auto pending = PendingOf(record); !pending.empty() && pending.back()->begin <= until) {
    const FlownOperation& own = *pending.back();
    return fmt::format("was in {} of {} since {}", Describe(own), GroupName(record, own.group), TimeText(own.begin));
  }
  for (auto last = record.operations.rbegin(); last != record.operations.rend(); ++last) {
    if (last->state != FlownOperation::State::kEnded) continue;
    return fmt::format("was in no collective since it ended {} of {}, {:.1f} s before{}", Describe(*last),
                       GroupName(record, last->group), SecondsBetween(last->end, until), NextOf(record));
  }
  return "had been in no collective" + NextOf(record);
}

std::string AboutRoot(std::span<const FlightRecord> records, int root, int64_t until) {
  const auto record = std::ranges::find(records, root, &FlightRecord::rank);
  if (record != records.end()) return LastOf(*record, until);
  return "left no record: it was killed or stopped, or its machine is gone";
}

PostMortem OfWait(std::span<const FlightRecord> records, int root) {
  const Wait wait = WaitFor(records, root);
  return {
      PostMortem::Cause::kWaited,
      {root},
      fmt::format("{} waited for rank {} in {}: {}, since {}, for {:.1f} s; rank {} {}", RanksText(wait.ranks), root,
                  GroupName(*wait.record, wait.operation->group), Describe(*wait.operation), TimeText(wait.begin),
                  SecondsBetween(wait.begin, wait.end), root, AboutRoot(records, root, wait.end))};
}

// Ranks that others wait for, by how many those are.
std::map<int, int> Roots(std::span<const FlightRecord> records) {
  std::map<int, int> waiting;
  for (const FlightRecord& record : records) {
    const int root = RootOfWait(records, record.rank);
    if (root != record.rank) ++waiting[root];
  }
  return waiting;
}

// All that came stand in the same operation, and nobody is missing.
std::optional<PostMortem> StuckTogether(std::span<const FlightRecord> records) {
  for (const FlightRecord& record : records) {
    const auto pending = PendingOf(record);
    if (pending.empty()) continue;
    const FlownOperation& operation = *pending.back();
    return PostMortem{
        PostMortem::Cause::kWaited,
        {record.rank},
        fmt::format("rank {} did not come out of {} in {}, for which nobody was missing, since {}", record.rank,
                    Describe(operation), GroupName(record, operation.group), TimeText(operation.begin))};
  }
  return std::nullopt;
}

std::string FaultsOf(std::span<const FlightRecord> records) {
  for (const FlightRecord& record : records) {
    if (!record.fault.empty()) return fmt::format("; rank {} said: {}", record.rank, record.fault);
  }
  return "";
}

PostMortem Healthy(std::span<const FlightRecord> records) {
  const std::vector<int> without = WithoutRecord(records);
  const std::string lost = without.empty() ? "" : fmt::format("; {} left no record", RanksText(without));
  return {PostMortem::Cause::kHealthy, without,
          fmt::format("of {} ranks nobody waited for another{}{}", records.front().ranks, lost, FaultsOf(records))};
}

}  // namespace

std::string TimeText(int64_t nanoseconds_since_1970) {
  constexpr int64_t kSecond = 1'000'000'000;
  const std::time_t seconds = nanoseconds_since_1970 / kSecond;
  const int64_t milliseconds = nanoseconds_since_1970 % kSecond / 1'000'000;
  return fmt::format("{:%Y-%m-%d %H:%M:%S}.{:03} UTC", fmt::gmtime(seconds), milliseconds);
}

PostMortem FindCause(std::span<const FlightRecord> records) {
  if (const std::optional<Mismatch> mismatch = FindMismatch(records)) return Of(*mismatch);
  const std::map<int, int> roots = Roots(records);
  if (roots.empty()) return StuckTogether(records).value_or(Healthy(records));
  const auto most = std::ranges::max_element(roots, {}, [](const auto& root) { return root.second; });
  return OfWait(records, most->first);
}

}  // namespace partita
