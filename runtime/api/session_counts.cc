// What a session has moved and used: bytes by group, memory by rank.
#include "graph/make_program.h"
#include "runtime/api/job/packed_values.h"
#include "runtime/api/session.h"
#include "runtime/base/status.h"

namespace partita {

std::vector<GroupTraffic> Session::Traffic() const {
  std::vector<GroupTraffic> traffic(program_.groups.size());
  for (const int rank : local_ranks_) {
    for (size_t group = 0; group < traffic.size(); ++group) {
      const auto& communicator = ranks_[rank]->communicators()[group];
      if (communicator == nullptr) continue;
      const CommBytes now = communicator->bytes();
      const CommBytes& before = counted_before_[rank][group];
      traffic[group].bytes += {now.payload - before.payload, now.wire - before.wire};
      if (communicator->rank() == 0) traffic[group].calls = now.calls - before.calls;
      traffic[group].waits += now.waits - before.waits;
      traffic[group].wait_seconds += now.wait_seconds - before.wait_seconds;
    }
  }
  return traffic;
}

absl::StatusOr<std::vector<GroupTraffic>> Session::JobTraffic() const {
  RETURN_IF_ERROR(CheckIdle("read the counters"));
  std::vector<GroupTraffic> traffic = Traffic();
  if (options_.job == nullptr) return traffic;
  PackedValues packed;
  for (const GroupTraffic& group : traffic) packed.Add(group);
  constexpr MessageKind kKind = MessageKind::kTraffic;
  ASSIGN_OR_RETURN(const std::vector<std::string> all, AllGather({kKind, packed.bytes()}));
  traffic.assign(traffic.size(), {});
  for (size_t process = 0; process < all.size(); ++process) {
    PackedReader values(kKind, process, all[process]);
    for (GroupTraffic& group : traffic) {
      const auto part = values.Next<GroupTraffic>();
      group.bytes += part.bytes;
      group.calls += part.calls;
      group.waits += part.waits;
      group.wait_seconds += part.wait_seconds;
    }
    RETURN_IF_ERROR(values.Finish());
  }
  return traffic;
}

void Session::ResetCounters() {
  counted_before_.assign(ranks_.size(), {});
  for (const int rank : local_ranks_) {
    counted_before_[rank].resize(program_.groups.size());
    for (size_t group = 0; group < program_.groups.size(); ++group) {
      const auto& communicator = ranks_[rank]->communicators()[group];
      if (communicator != nullptr) counted_before_[rank][group] = communicator->bytes();
    }
  }
}

std::vector<MoveBytes> Session::PredictedBytes(std::string_view entry) const {
  return PredictBytes(program_, graph(entry));
}

const MemoryUse& Session::PlannedMemory(int rank) const { return planned_[rank]; }

int64_t Session::UsedMemory(int rank) const { return ranks_[rank]->UsedMemory(); }

absl::StatusOr<std::vector<int64_t>> Session::JobUsedMemory() const {
  PackedValues packed;
  for (const int rank : local_ranks_) {
    packed.Add(int64_t{rank});
    packed.Add(UsedMemory(rank));
  }
  constexpr MessageKind kKind = MessageKind::kMemoryUse;
  ASSIGN_OR_RETURN(const std::vector<std::string> all, AllGather({kKind, packed.bytes()}));
  std::vector<int64_t> used(ranks_.size());
  for (size_t process = 0; process < all.size(); ++process) {
    PackedReader values(kKind, process, all[process]);
    while (!values.AtEnd()) {
      const int64_t rank = values.NextBelow(ranks());
      used[rank] = values.Next<int64_t>();
    }
    RETURN_IF_ERROR(values.Finish());
  }
  return used;
}

}  // namespace partita
