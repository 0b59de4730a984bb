// Threads that decode pictures, shared by all that want some decoded.
#ifndef PARTITA_RUNTIME_DATA_PICTURES_DECODE_THREADS_H_
#define PARTITA_RUNTIME_DATA_PICTURES_DECODE_THREADS_H_

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace partita {

// Thread-safe.
class DecodeThreads {
 public:
  // `count` includes the thread that calls Run, at least 1. kResourceExhausted: the system allows fewer threads.
  static absl::StatusOr<std::shared_ptr<DecodeThreads>> Start(int64_t count);
  DecodeThreads(const DecodeThreads&) = delete;
  DecodeThreads& operator=(const DecodeThreads&) = delete;
  ~DecodeThreads();

  // Calls work(i) for every i in [0, count), on any thread and in any order, and returns when all have returned: the
  // error of the least i that has one, for every number of threads. After an error, work is not called for some i. A
  // lack of memory inside `work` is an error too.
  using Work = std::function<absl::Status(int64_t)>;
  absl::Status Run(int64_t count, const Work& work);

 private:
  struct Job;

  DecodeThreads() = default;

  void Serve();
  void Finish(std::unique_lock<std::mutex>& lock, Job& job);

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Job*> jobs_;  // those with work left
  bool ended_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace partita

#endif  // PARTITA_RUNTIME_DATA_PICTURES_DECODE_THREADS_H_
