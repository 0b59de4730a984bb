#include "runtime/flight_recorder/flight_ring.h"

#include <algorithm>
#include <chrono>

#include "runtime/device/cycle_clock.h"

namespace partita {
namespace {

// From cycles to the time of day, by what both are now.
class TimeOfDay {
 public:
  int64_t operator()(uint64_t cycles) const {
    const auto ago = static_cast<double>(static_cast<int64_t>(cycles_ - cycles)) * SecondsPerCycle();
    return now_ - static_cast<int64_t>(ago * 1e9);
  }

 private:
  const uint64_t cycles_ = ReadCycles();
  const int64_t now_ =
      std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::system_clock::now().time_since_epoch()).count();
};

}  // namespace

// A reader that sees a field of this operation sees that its entry is being written, for each is released behind that.
uint64_t FlightRing::Begin(const Operation& operation, State state) {
  const uint64_t ticket = last_.fetch_add(1, std::memory_order_relaxed) + 1;
  Entry& entry = EntryOf(ticket);
  entry.ticket.store(0, std::memory_order_relaxed);
  entry.name.store(operation.name, std::memory_order_release);
  entry.dtype.store(operation.dtype, std::memory_order_release);
  entry.sequence.store(operation.sequence, std::memory_order_release);
  entry.count.store(operation.count, std::memory_order_release);
  entry.group.store(operation.group, std::memory_order_release);
  entry.state.store(state, std::memory_order_release);
  entry.end.store(0, std::memory_order_release);
  entry.begin.store(ReadCycles(), std::memory_order_release);
  entry.ticket.store(ticket, std::memory_order_release);
  return ticket;
}

// One that was overwritten since, because the ring went round, is no longer there.
void FlightRing::SetState(uint64_t ticket, State state) {
  Entry& entry = EntryOf(ticket);
  if (entry.ticket.load(std::memory_order_relaxed) == ticket) entry.state.store(state, std::memory_order_relaxed);
}

void FlightRing::Come(uint64_t ticket) {
  Entry& entry = EntryOf(ticket);
  if (entry.ticket.load(std::memory_order_relaxed) != ticket) return;
  entry.begin.store(ReadCycles(), std::memory_order_relaxed);
  entry.state.store(State::kWaiting, std::memory_order_release);
}

void FlightRing::End(uint64_t ticket, bool ok) {
  Entry& entry = EntryOf(ticket);
  if (entry.ticket.load(std::memory_order_relaxed) != ticket) return;
  entry.end.store(ReadCycles(), std::memory_order_relaxed);
  entry.state.store(ok ? State::kEnded : State::kFailed, std::memory_order_release);
}

std::vector<FlownOperation> FlightRing::Read() const {
  const TimeOfDay time_of;
  std::vector<std::pair<uint64_t, FlownOperation>> found;
  for (const Entry& entry : entries_) {
    const uint64_t ticket = entry.ticket.load(std::memory_order_acquire);
    if (ticket == 0) continue;
    FlownOperation operation;
    operation.state = entry.state.load(std::memory_order_acquire);
    operation.group = entry.group.load(std::memory_order_acquire);
    operation.sequence = entry.sequence.load(std::memory_order_acquire);
    operation.name = entry.name.load(std::memory_order_acquire);
    operation.count = entry.count.load(std::memory_order_acquire);
    operation.dtype = entry.dtype.load(std::memory_order_acquire);
    operation.begin = time_of(entry.begin.load(std::memory_order_acquire));
    const uint64_t end = entry.end.load(std::memory_order_acquire);
    const bool over = operation.state == State::kEnded || operation.state == State::kFailed;
    operation.end = over ? time_of(end) : 0;
    if (entry.ticket.load(std::memory_order_relaxed) != ticket) continue;  // overwritten meanwhile
    found.emplace_back(ticket, std::move(operation));
  }
  std::ranges::sort(found, {}, &std::pair<uint64_t, FlownOperation>::first);
  std::vector<FlownOperation> operations;
  for (auto& [ticket, operation] : found) operations.push_back(std::move(operation));
  return operations;
}

}  // namespace partita
