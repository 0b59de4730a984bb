#include "runtime/device/host/kernel_team.h"

#include <condition_variable>
#include <limits>
#include <mutex>
#include <vector>

#ifdef _OPENMP
#include <omp.h>
#endif

#include "runtime/base/exhaustion.h"
#include "runtime/base/status.h"

namespace partita {
namespace {

// Where threads wait until all that could be started have been.
class Gate {
 public:
  void Pass() {
    std::unique_lock lock(mutex_);
    opened_.wait(lock, [this] { return open_; });
  }
  void Open() {
    const std::lock_guard lock(mutex_);
    open_ = true;
    opened_.notify_all();
  }

 private:
  std::mutex mutex_;
  std::condition_variable opened_;
  bool open_ = false;
};

void* PassGate(void* gate) {
  static_cast<Gate*>(gate)->Pass();
  return nullptr;
}

#ifdef _OPENMP

// The threads that regions of this thread were seen to have.
thread_local int team = 1;

// Teams are made one after the other: a thread that was tried for one must not be missing when another one starts it.
absl::Status MakeTeam(int threads) {
  static std::mutex& mutex = *new std::mutex();
  const std::lock_guard lock(mutex);
  if (threads > MostKernelThreads()) {
    return ResourceExhausted(
        "kernels are made for {} threads, OMP_THREAD_LIMIT allows {}; unset it, or use fewer threads", threads,
        MostKernelThreads());
  }
  omp_set_dynamic(0);
  omp_set_max_active_levels(1);
  RETURN_IF_ERROR(TryThreads(threads - team));
  int count = 0;
#pragma omp parallel num_threads(threads) reduction(+ : count)
  count += 1;
  if (count < threads) {
    return ResourceExhausted("kernels are made for {} threads, OpenMP gives them {}; use fewer threads", threads,
                             count);
  }
  team = threads;
  return absl::OkStatus();
}

#endif

}  // namespace

absl::Status TryThreads(int count, StartThread start) {
  Gate gate;
  std::vector<pthread_t> threads;
  int error = 0;
  while (static_cast<int>(threads.size()) < count && error == 0) {
    pthread_t thread{};
    error = start(&thread, nullptr, PassGate, &gate);
    if (error == 0) threads.push_back(thread);
  }
  // While the others are there, so that the limit that was met is full.
  const absl::Status status =
      error == 0 ? absl::OkStatus()
                 : NoThread(fmt::format("cannot start thread {} of {} for kernels", threads.size() + 1, count), error);
  gate.Open();
  for (const pthread_t thread : threads) pthread_join(thread, nullptr);
  return status;
}

absl::Status StartKernelTeam() {
#ifdef _OPENMP
  const int threads = omp_get_max_threads();
  if (threads <= team) return absl::OkStatus();
  return MakeTeam(threads);
#else
  return absl::OkStatus();
#endif
}

int MostKernelThreads() {
#ifdef _OPENMP
  return omp_get_thread_limit();
#else
  return std::numeric_limits<int>::max();
#endif
}

}  // namespace partita
