// Loops over the OpenMP threads of the stream that runs the kernel (omp_get_max_threads() of the calling thread).
//
// Work is cut by its size alone, never by the number of threads; a kernel that reduces keeps one partial result per
// chunk and adds them in order, so the bits of a result do not depend on how many threads there are.
#ifndef PARTITA_OPS_HOST_KERNEL_PARALLEL_H_
#define PARTITA_OPS_HOST_KERNEL_PARALLEL_H_

#include <algorithm>
#include <cstdint>

#ifdef _OPENMP
#include <omp.h>
#endif

namespace partita {

inline int MaxThreads() {
#ifdef _OPENMP
  return omp_get_max_threads();
#else
  return 1;
#endif
}

inline void SetMaxThreads([[maybe_unused]] int threads) {
#ifdef _OPENMP
  omp_set_num_threads(threads);
#endif
}

// While it lives, parallel regions of the calling thread have this many threads; 0: as many as before.
class ThreadScope {
 public:
  explicit ThreadScope(int threads) : before_(MaxThreads()) {
    if (threads > 0) SetMaxThreads(threads);
  }
  ~ThreadScope() { SetMaxThreads(before_); }
  ThreadScope(const ThreadScope&) = delete;
  ThreadScope& operator=(const ThreadScope&) = delete;

 private:
  const int before_;
};

// Below this much work, in elements that a plain loop touches, a second thread costs more than it brings: waking it and
// waiting for it takes some 10 microseconds, for threads that block and do not spin.
inline constexpr int64_t kParallelElements = 131072;

// Calls f(i) for 0 <= i < count, contiguous ranges per thread; serial if `elements`, the work of all calls together, is
// small.
template <typename F>
void ParallelFor(int64_t count, int64_t elements, const F& f) {
  const int threads = elements < kParallelElements ? 1 : static_cast<int>(std::min<int64_t>(MaxThreads(), count));
  if (threads <= 1) {
    for (int64_t i = 0; i < count; ++i) f(i);
    return;
  }
#ifdef _OPENMP
#pragma omp parallel for schedule(static) num_threads(threads)
  for (int64_t i = 0; i < count; ++i) f(i);
#endif
}

// Calls f(thread, i) for 0 <= i < count, each on the first free thread of this number of threads. For long calls: the
// end does not wait for a thread that other work delays.
template <typename F>
void ParallelTasks(int threads, int64_t count, const F& f) {
  const int most = static_cast<int>(std::min<int64_t>(threads, count));
  if (most <= 1) {
    for (int64_t i = 0; i < count; ++i) f(0, i);
    return;
  }
#ifdef _OPENMP
#pragma omp parallel for schedule(dynamic) num_threads(most)
  for (int64_t i = 0; i < count; ++i) f(omp_get_thread_num(), i);
#endif
}

// Calls f(begin, end) for the pieces of [0, elements); one element costs as much as `cost` of a plain loop.
template <typename F>
void ParallelRange(int64_t elements, const F& f, int64_t cost = 1) {
  constexpr int64_t kPiece = 4096;
  const int64_t pieces = (elements + kPiece - 1) / kPiece;
  ParallelFor(pieces, elements * cost, [&](int64_t i) { f(i * kPiece, std::min(elements, (i + 1) * kPiece)); });
}

}  // namespace partita

#endif  // PARTITA_OPS_HOST_KERNEL_PARALLEL_H_
