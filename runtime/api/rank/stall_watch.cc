#include "runtime/api/rank/stall_watch.h"

#include <pthread.h>

#include <algorithm>
#include <utility>

#include "runtime/base/check.h"
#include "runtime/base/status.h"
#include "runtime/device/host/host_stream.h"
#include "runtime/flight_recorder/post_mortem.h"
#include "runtime/flight_recorder/waits.h"

namespace partita {
namespace {

using std::chrono::milliseconds;

// So that a stall is told of soon after the timeout, also of a short one.
milliseconds IntervalOf(milliseconds timeout) { return std::clamp(timeout / 8, milliseconds(1), milliseconds(250)); }

int64_t NanosecondsOf(clockid_t clock) {
  timespec time{};
  if (clock_gettime(clock, &time) != 0) return 0;
  return int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

// The clock of the thread of a stream, which itself says which that is.
absl::StatusOr<clockid_t> ClockOf(Stream& stream) {
  auto* const host_stream = dynamic_cast<HostStream*>(&stream);
  CHECK(host_stream != nullptr);
  clockid_t clock = 0;
  const auto find = [](void* found) {
    return pthread_getcpuclockid(pthread_self(), static_cast<clockid_t*>(found)) == 0
               ? absl::OkStatus()
               : Internal("a thread has no clock");
  };
  RETURN_IF_ERROR(host_stream->Enqueue({find, &clock}));
  RETURN_IF_ERROR(host_stream->Synchronize());
  return clock;
}

}  // namespace

StallWatch::StallWatch(const FlightRecorder& recorder, milliseconds timeout, OnStall on_stall)
    : recorder_(recorder), timeout_(timeout), interval_(IntervalOf(timeout)), on_stall_(std::move(on_stall)) {}

absl::StatusOr<std::unique_ptr<StallWatch>> StallWatch::Start(const std::map<int, std::vector<Stream*>>& streams,
                                                              const FlightRecorder& recorder, milliseconds timeout,
                                                              OnStall on_stall) {
  std::unique_ptr<StallWatch> watch(new StallWatch(recorder, timeout, std::move(on_stall)));
  for (const auto& [rank, of_rank] : streams) {
    for (Stream* const stream : of_rank) {
      ASSIGN_OR_RETURN(const clockid_t clock, ClockOf(*stream));
      watch->by_rank_[rank].clocks.push_back(clock);
    }
  }
  watch->thread_ = std::thread([raw = watch.get()] { raw->Watch(); });
  return watch;
}

StallWatch::~StallWatch() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    changed_.notify_all();
  }
  if (thread_.joinable()) thread_.join();
}

StallWatch::Waiting::Waiting(StallWatch* watch, int rank) : watch_(watch) {
  if (watch_ == nullptr) return;
  watch_->waits_.fetch_add(1, std::memory_order_relaxed);
  watch_->awaited_.store(rank, std::memory_order_release);
}

StallWatch::Waiting::~Waiting() {
  if (watch_ != nullptr) watch_->awaited_.store(-1, std::memory_order_release);
}

void StallWatch::Watch() {
  std::unique_lock lock(mutex_);
  while (!stopping_ && !stalled_) {
    changed_.wait_for(lock, interval_, [this] { return stopping_; });
    lock.unlock();
    Look();
    lock.lock();
  }
}

bool StallWatch::IsQuiet(int rank) const {
  const auto threads = by_rank_.find(rank);
  return threads != by_rank_.end() && threads->second.quiet * interval_ >= timeout_;
}

void StallWatch::Look() {
  const int awaited = awaited_.load(std::memory_order_acquire);
  const uint64_t wait = waits_.load(std::memory_order_relaxed);
  const bool goes_on = awaited < 0 || wait != seen_wait_;
  seen_wait_ = wait;
  for (auto& [rank, threads] : by_rank_) {
    int64_t used = 0;
    for (const clockid_t clock : threads.clocks) used += NanosecondsOf(clock);
    threads.quiet = goes_on || used != threads.nanoseconds ? 0 : threads.quiet + 1;
    threads.nanoseconds = used;
  }
  if (goes_on || !IsQuiet(awaited)) return;
  const std::vector<FlightRecord> records = recorder_.Read();
  const int root = RootOfWait(records, awaited);
  if (!IsQuiet(root)) return;
  stalled_ = true;
  on_stall_(StatusOf(root, records), records);
}

absl::Status StallWatch::StatusOf(int rank, const std::vector<FlightRecord>& records) const {
  const double seconds = static_cast<double>(timeout_.count()) / 1000;
  std::string others;
  if (!records.empty()) {
    const PostMortem found = FindCause(records);
    if (found.cause == PostMortem::Cause::kWaited) others = "; " + found.sentence;
  }
  return Unavailable("rank {} has stood still for {:.1f} s in a step{}", rank, seconds, others);
}

}  // namespace partita
