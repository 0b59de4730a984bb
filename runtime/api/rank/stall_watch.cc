#include "runtime/api/rank/stall_watch.h"

#include <pthread.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <system_error>
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

}  // namespace

StallWatch::StallWatch(const FlightRecorder& recorder, milliseconds timeout, OnStall on_stall)
    : recorder_(recorder), timeout_(timeout), interval_(IntervalOf(timeout)), on_stall_(std::move(on_stall)) {}

// The stream's thread itself reports its clock, and its place in /proc in the numbering that is mounted there.
absl::StatusOr<StallWatch::Thread> StallWatch::ThreadOf(Stream& stream) {
  auto* const host_stream = dynamic_cast<HostStream*>(&stream);
  CHECK(host_stream != nullptr);
  Thread thread;
  const auto find = [](void* found) {
    auto& self = *static_cast<Thread*>(found);
    std::error_code unknown;
    const std::filesystem::path place = std::filesystem::read_symlink("/proc/thread-self", unknown);
    if (!unknown) self.stat = "/proc/" + place.string() + "/stat";
    return pthread_getcpuclockid(pthread_self(), &self.clock) == 0 ? absl::OkStatus()
                                                                   : Internal("a thread has no clock");
  };
  RETURN_IF_ERROR(host_stream->Enqueue({find, &thread}));
  RETURN_IF_ERROR(host_stream->Synchronize());
  return thread;
}

// As in /proc: R runs or is runnable, S sleeps, t is stopped by a debugger, D waits for a disk; 0: unknown.
char StallWatch::StateOf(const Thread& thread) {
  std::ifstream file(thread.stat);
  std::string line;
  std::getline(file, line);
  const size_t name_end = line.rfind(')');  // a name may contain spaces and parentheses
  return name_end != std::string::npos && name_end + 2 < line.size() ? line[name_end + 2] : '\0';
}

absl::StatusOr<std::unique_ptr<StallWatch>> StallWatch::Start(const std::map<int, std::vector<Stream*>>& streams,
                                                              const FlightRecorder& recorder, milliseconds timeout,
                                                              OnStall on_stall) {
  std::unique_ptr<StallWatch> watch(new StallWatch(recorder, timeout, std::move(on_stall)));
  for (const auto& [rank, of_rank] : streams) {
    for (Stream* const stream : of_rank) {
      ASSIGN_OR_RETURN(Thread thread, ThreadOf(*stream));
      watch->by_rank_[rank].of_rank.push_back(std::move(thread));
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

std::optional<int> StallWatch::HeldRank() const {
  const auto held = std::ranges::find_if(
      by_rank_, [this](const auto& of_rank) { return of_rank.second.held * interval_ >= timeout_; });
  return held == by_rank_.end() ? std::nullopt : std::optional(held->first);
}

// On a machine with more runnable threads than processors a thread that computes may wait for its turn for long.
void StallWatch::Observe(Threads& threads, bool goes_on) {
  int64_t used = 0;
  bool runs = goes_on, held = false;
  for (const Thread& thread : threads.of_rank) {
    const char state = StateOf(thread);
    used += NanosecondsOf(thread.clock);
    runs |= state == 'R';
    held |= state != 'R' && state != 'S' && state != '\0';
  }
  runs |= used != threads.nanoseconds;
  threads.nanoseconds = used;
  threads.quiet = runs ? 0 : threads.quiet + 1;
  threads.held = runs || !held ? 0 : threads.held + 1;
}

void StallWatch::Look() {
  const int awaited = awaited_.load(std::memory_order_acquire);
  const uint64_t wait = waits_.load(std::memory_order_relaxed);
  const bool goes_on = awaited < 0 || wait != seen_wait_;
  seen_wait_ = wait;
  for (auto& [rank, threads] : by_rank_) Observe(threads, goes_on);
  if (goes_on || !IsQuiet(awaited)) return;
  const std::vector<FlightRecord> records = recorder_.Read();
  int root = RootOfWait(records, awaited);
  if (!IsQuiet(root)) {
    // A thread that waits for another process sleeps. One that is held in any other state will not see what comes.
    const std::optional<int> held = HeldRank();
    if (!held) return;
    root = *held;
  }
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
