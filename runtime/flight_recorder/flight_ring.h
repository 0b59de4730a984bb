// The last operations of one rank, overwritten in a ring: two stores of the cycle counter and some of its cache lines
// for each, no lock and no allocation, so that it is always on.
//
// Any thread may write and any read at the same time; a reader skips an entry that is being written.
#ifndef PARTITA_RUNTIME_FLIGHT_RECORDER_FLIGHT_RING_H_
#define PARTITA_RUNTIME_FLIGHT_RECORDER_FLIGHT_RING_H_

#include <array>
#include <atomic>
#include <cstdint>
#include <vector>

#include "runtime/flight_recorder/flight_record.h"

namespace partita {

class FlightRing {
 public:
  static constexpr uint64_t kEntries = 256;

  // FlownOperation before it flies; the texts are constants of the program.
  struct Operation {
    int group = 0;
    int64_t sequence = 0;
    const char* name = "";
    int64_t count = 0;
    const char* dtype = "";
  };

  // Returns what the operation is called from then on.
  uint64_t Begin(const Operation& operation, FlownOperation::State state = FlownOperation::State::kRunning);
  // One that was launched has begun, and waits for its peers.
  void Come(uint64_t ticket);
  // Whether it now waits for a peer.
  void SetWaiting(uint64_t ticket, bool waiting) {
    SetState(ticket, waiting ? FlownOperation::State::kWaiting : FlownOperation::State::kRunning);
  }
  void End(uint64_t ticket, bool ok);

  // Those that are kept, in the order of their begins.
  std::vector<FlownOperation> Read() const;

 private:
  using State = FlownOperation::State;

  struct alignas(64) Entry {
    std::atomic<uint64_t> ticket{0};  // 0: nothing, or being written
    std::atomic<const char*> name{nullptr}, dtype{nullptr};
    std::atomic<int64_t> sequence{0}, count{0};
    std::atomic<uint64_t> begin{0}, end{0};  // cycles
    std::atomic<int32_t> group{0};
    std::atomic<State> state{State::kEnded};
  };

  Entry& EntryOf(uint64_t ticket) { return entries_[ticket % kEntries]; }
  void SetState(uint64_t ticket, State state);

  std::atomic<uint64_t> last_{0};  // ticket
  std::array<Entry, kEntries> entries_;
};

}  // namespace partita

#endif  // PARTITA_RUNTIME_FLIGHT_RECORDER_FLIGHT_RING_H_
