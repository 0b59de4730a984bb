// A number for each block: how many of the numbers 0 to Derived::End(own) it counts (ReduceRows).
#ifndef PARTITA_OPS_CUDA_LOOPS_ROWS_COUNT_BODY_H_
#define PARTITA_OPS_CUDA_LOOPS_ROWS_COUNT_BODY_H_

#include <cstdint>

#include "ops/cuda/launch/reductions.h"

namespace partita::launch {

// Derived has
//   int64_t End(int64_t own) const             behind the last that is looked at
//   bool Counts(int64_t other, int64_t own) const
//   void Store(int64_t own, int64_t counted) const   by one thread of the block
template <typename Derived>
struct CountBody {
  struct Nothing {};
  using FirstValue = int64_t;
  using SecondValue = Nothing;

  PARTITA_HOST_DEVICE int64_t First(int64_t own, int thread) const {
    const int64_t end = derived().End(own);
    int64_t counted = 0;
    for (int64_t i = thread; i < end; i += kBlockThreads) counted += derived().Counts(i, own) ? 1 : 0;
    return counted;
  }
  PARTITA_HOST_DEVICE void CombineFirst(int64_t& counted, int64_t more) const { counted += more; }
  PARTITA_HOST_DEVICE Nothing Second(int64_t, int, int64_t) const { return {}; }
  PARTITA_HOST_DEVICE void CombineSecond(Nothing&, const Nothing&) const {}
  PARTITA_HOST_DEVICE void Finish(int64_t own, int thread, int64_t counted, const Nothing&) const {
    if (thread == 0) derived().Store(own, counted);
  }

 private:
  PARTITA_HOST_DEVICE const Derived& derived() const { return static_cast<const Derived&>(*this); }
};

}  // namespace partita::launch

#endif  // PARTITA_OPS_CUDA_LOOPS_ROWS_COUNT_BODY_H_
