#include "runtime/data/pictures/decode_threads.h"

#include <algorithm>
#include <limits>

#include "runtime/base/exhaustion.h"
#include "runtime/base/status.h"

namespace partita {

// Numbers are handed out in order, so that all below one that failed have been handed out too: the least that fails is
// always among them.
struct DecodeThreads::Job {
  int64_t count;
  const Work& work;
  int64_t next = 0;
  int64_t running = 0;
  int64_t failed = std::numeric_limits<int64_t>::max();
  absl::Status error = absl::OkStatus();
};

absl::StatusOr<std::shared_ptr<DecodeThreads>> DecodeThreads::Start(int64_t count) {
  return OrExhausted("decode threads", [&]() -> absl::StatusOr<std::shared_ptr<DecodeThreads>> {
    std::shared_ptr<DecodeThreads> threads(new DecodeThreads());
    for (int64_t i = 1; i < count; ++i) threads->threads_.emplace_back([pool = threads.get()] { pool->Serve(); });
    return threads;
  });
}

DecodeThreads::~DecodeThreads() {
  {
    const std::lock_guard lock(mutex_);
    ended_ = true;
    changed_.notify_all();
  }
  for (std::thread& thread : threads_) thread.join();
}

void DecodeThreads::Serve() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [&] { return ended_ || !jobs_.empty(); });
    if (ended_) return;
    Finish(lock, *jobs_.front());
  }
}

// Does what the job has left to hand out. The job may be gone when this returns, unless the caller owns it.
void DecodeThreads::Finish(std::unique_lock<std::mutex>& lock, Job& job) {
  while (job.next < job.count) {
    const int64_t i = job.next++;
    if (job.next == job.count) std::erase(jobs_, &job);
    ++job.running;
    lock.unlock();
    const absl::Status status = OrExhausted("decoding", [&] { return job.work(i); });
    lock.lock();
    if (!status.ok() && i < job.failed) {
      job.failed = i;
      job.error = status;
      job.next = job.count;
      std::erase(jobs_, &job);
    }
    if (--job.running == 0 && job.next == job.count) {
      changed_.notify_all();
      return;
    }
  }
}

absl::Status DecodeThreads::Run(int64_t count, const Work& work) {
  if (count == 0) return absl::OkStatus();
  Job job{count, work};
  std::unique_lock lock(mutex_);
  jobs_.push_back(&job);
  changed_.notify_all();
  Finish(lock, job);
  changed_.wait(lock, [&] { return job.running == 0; });
  return job.error;
}

}  // namespace partita
