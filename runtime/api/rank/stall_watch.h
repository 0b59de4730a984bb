// Notices that a step stands still: the host waits for a rank, and neither that rank nor the one that it waits for in a
// collective at last computes. A rank that computes for long is none; neither is one that waits for another process,
// unless its thread is held there: stopped by a debugger, or in a wait for a disk that does not end.
//
// A thread that computes uses the processor, so its clock advances, or it is runnable and waits for a processor. Steps
// pay nothing for the watch: at intervals a thread of the watch reads the clocks and states of the streams' threads and
// the flight recorder. Time counts in looks, so a process that was stopped as a whole and resumes has lost none.
#ifndef PARTITA_RUNTIME_API_RANK_STALL_WATCH_H_
#define PARTITA_RUNTIME_API_RANK_STALL_WATCH_H_

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <ctime>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/device/stream.h"
#include "runtime/flight_recorder/flight_recorder.h"

namespace partita {

class StallWatch {
 public:
  // Called once, on the watch's thread, with a kUnavailable that names the rank, and what all recorded until then.
  using OnStall = std::function<void(const absl::Status&, const std::vector<FlightRecord>&)>;

  // `streams`: of the host, by rank of this process; idle now. They and the recorder outlive the watch.
  static absl::StatusOr<std::unique_ptr<StallWatch>> Start(const std::map<int, std::vector<Stream*>>& streams,
                                                           const FlightRecorder& recorder,
                                                           std::chrono::milliseconds timeout, OnStall on_stall);
  ~StallWatch();

  // While it lives, the host waits for the step of a rank. One at a time; `watch` may be null.
  class Waiting {
   public:
    Waiting(StallWatch* watch, int rank);
    ~Waiting();
    Waiting(const Waiting&) = delete;
    Waiting& operator=(const Waiting&) = delete;

   private:
    StallWatch* const watch_;
  };

 private:
  struct Thread {
    clockid_t clock = 0;
    std::string stat;  // path of the file in which the kernel reports the thread's state; empty: unknown
  };

  struct Threads {
    std::vector<Thread> of_rank;
    int64_t nanoseconds = 0;  // processor time at the last look
    int quiet = 0;            // looks since a thread last ran or was runnable
    int held = 0;             // of these, the last ones in which a thread neither ran nor slept
  };

  StallWatch(const FlightRecorder& recorder, std::chrono::milliseconds timeout, OnStall on_stall);
  void Watch();
  void Look();
  static absl::StatusOr<Thread> ThreadOf(Stream& stream);
  static char StateOf(const Thread& thread);
  static void Observe(Threads& threads, bool goes_on);
  bool IsQuiet(int rank) const;
  std::optional<int> HeldRank() const;
  absl::Status StatusOf(int rank, const std::vector<FlightRecord>& records) const;

  const FlightRecorder& recorder_;
  const std::chrono::milliseconds timeout_;
  const std::chrono::milliseconds interval_;  // between two looks
  const OnStall on_stall_;
  std::map<int, Threads> by_rank_;

  std::atomic<int> awaited_{-1};    // the rank that the host waits for; -1: none
  std::atomic<uint64_t> waits_{0};  // so far
  uint64_t seen_wait_ = 0;          // at the last look
  bool stalled_ = false;

  std::mutex mutex_;
  std::condition_variable changed_;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace partita

#endif  // PARTITA_RUNTIME_API_RANK_STALL_WATCH_H_
