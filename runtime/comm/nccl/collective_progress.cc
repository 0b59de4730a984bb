#include "runtime/comm/nccl/collective_progress.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "runtime/base/status.h"
#include "runtime/comm/nccl/count_up_kernel.h"

namespace partita {
namespace {

using State = FlownOperation::State;

// Of the collectives between two looks so many are written: the ring is that of all groups of the rank.
constexpr int64_t kMostWritten = 16;

// Steps of which collectives may be under way.
constexpr size_t kStepsInFlight = 2;

}  // namespace

absl::StatusOr<std::unique_ptr<CollectiveProgress>> CollectiveProgress::Create(CudaDevice& device, int group,
                                                                               FlightRing& ring) {
  std::unique_ptr<CollectiveProgress> progress(new CollectiveProgress(group, ring));
  constexpr int64_t kBytes = kCounts * sizeof(unsigned long long);
  ASSIGN_OR_RETURN(progress->counts_, device.Allocate(kBytes));
  ASSIGN_OR_RETURN(progress->seen_, device.AllocateHost(kBytes));
  RETURN_IF_ERROR(device.context().Load(CountUpKernel()));
  return progress;
}

int64_t CollectiveProgress::Seen(Count count) const {
  const std::atomic_ref seen(static_cast<unsigned long long*>(seen_->data())[count]);
  return static_cast<int64_t>(seen.load(std::memory_order_acquire));
}

absl::Status CollectiveProgress::Begin(CudaStream& stream) {
  std::vector<void*> pointers = stream.TakeLater(CountUpKernel());  // the end of the collective before
  pointers.resize(pointers.empty() ? 0 : 2);
  pointers.insert(pointers.end(), {At(*counts_, kBegun), At(*seen_, kBegun)});
  pointers.resize(4);
  void* arguments[] = {&pointers[0], &pointers[1], &pointers[2], &pointers[3]};
  return stream.Launch(CountUpKernel(), {1}, {1}, arguments);
}

absl::Status CollectiveProgress::End(const CommCall& call, CudaStream& stream) {
  RETURN_IF_ERROR(stream.LaunchLater(CountUpKernel(), {At(*counts_, kEnded), At(*seen_, kEnded), nullptr, nullptr}));
  Remember(call);
  stream.OnEachRun([this, run = &enqueued_.back()] {
    const int64_t sequence = launched_.load(std::memory_order_relaxed) + 1;
    recent_[static_cast<size_t>(sequence) % recent_.size()].store(run, std::memory_order_relaxed);
    launched_.store(sequence, std::memory_order_release);
  });
  return absl::OkStatus();
}

void CollectiveProgress::Remember(const CommCall& call) {
  enqueued_.push_back({call.Describe(), {group_, 0, Name(call.kind), call.CommonCount(), Name(call.in.dtype)}});
  if (recent_.size() >= kStepsInFlight * enqueued_.size()) return;
  Recent larger(2 * recent_.size());
  const std::lock_guard lock(mutex_);
  const int64_t last = launched();
  for (int64_t sequence = last; sequence > 0 && sequence > last - static_cast<int64_t>(recent_.size()); --sequence) {
    larger[static_cast<size_t>(sequence) % larger.size()].store(Find(sequence));
  }
  recent_ = std::move(larger);
}

// Of those that were launched.
const CollectiveProgress::Enqueued* CollectiveProgress::Find(int64_t sequence) const {
  return recent_[static_cast<size_t>(sequence) % recent_.size()].load(std::memory_order_relaxed);
}

std::string CollectiveProgress::Current() const {
  const std::lock_guard lock(mutex_);
  const int64_t sequence = std::min(ended() + 1, launched());
  const Enqueued* const found = Find(sequence);
  return fmt::format("{}, sequence number {}", found == nullptr ? "no collective" : found->description, sequence);
}

uint64_t CollectiveProgress::Write(int64_t sequence, State state) {
  FlightRing::Operation flown = Find(sequence)->flown;
  flown.sequence = sequence;
  return ring_.Begin(flown, state);
}

void CollectiveProgress::Record() {
  const std::lock_guard lock(mutex_);
  if (!failed_) Look();
}

void CollectiveProgress::Fail() {
  const std::lock_guard lock(mutex_);
  if (std::exchange(failed_, true)) return;
  Look();
  if (open_ != 0) ring_.End(open_, false);
}

// A GPU may count what the host launches before the host does.
void CollectiveProgress::Look() {
  const int64_t launched = this->launched(), ended = std::min(Seen(kEnded), launched),
                begun = std::min(Seen(kBegun), launched);
  if (open_ != 0 && begun_ <= ended) ring_.End(std::exchange(open_, 0), true);
  const bool next_came = next_ != 0 && next_ <= begun;
  if (next_came) ring_.Come(next_ticket_);
  const int64_t first = std::max(begun_ + 1, begun - kMostWritten + 1);
  if (next_came && next_ < first) ring_.End(next_ticket_, true);
  for (int64_t sequence = first; sequence <= begun; ++sequence) {
    const uint64_t ticket = sequence == next_ ? next_ticket_ : Write(sequence, State::kWaiting);
    if (sequence <= ended) {
      ring_.End(ticket, true);
    } else {
      open_ = ticket;
    }
  }
  begun_ = begun;
  if (next_came) next_ = 0;
  if (next_ != 0 || begun == launched) return;
  next_ = begun + 1;
  next_ticket_ = Write(next_, State::kLaunched);
}

}  // namespace partita
