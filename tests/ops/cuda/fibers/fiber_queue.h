// A queue whose launches run on fibers, here and now: blocks and threads in the order that a seed gives, kernels called
// with the real array of arguments.
#ifndef PARTITA_TESTS_OPS_CUDA_FIBERS_FIBER_QUEUE_H_
#define PARTITA_TESTS_OPS_CUDA_FIBERS_FIBER_QUEUE_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <random>
#include <string>

#include "ops/cuda/launch/launch.h"
#include "tests/ops/cuda/fibers/memory.h"

namespace partita::fibers {

inline constexpr size_t kMostArgumentBytes = 32764;  // of compute capability 7.0 and later

// Runs a grid, whose threads do `thread`, to its end. Returns what was wrong first, or "".
std::string RunGrid(const LaunchShape& shape, const std::function<void()>& thread, Memory& memory,
                    std::mt19937_64& order);

class FiberQueue : public LaunchQueue {
 public:
  FiberQueue(uint64_t seed, Memory& memory) : order_(seed), memory_(memory) {}

  LaunchError Launch(const void* function, const LaunchShape& shape, void** arguments) override;
  LaunchError Copy(void* to, const void* from, int64_t bytes) override;
  LaunchError Zero(void* to, int64_t bytes) override;
  CUstream_st* BeginWork() override { return nullptr; }

  int launches() const { return launches_; }
  // What was wrong first: kernel, block, thread; "": nothing.
  const std::string& failure() const { return failure_; }

 private:
  bool Touch(const void* begin, int64_t bytes, bool store);

  std::mt19937_64 order_;
  Memory& memory_;
  int launches_ = 0;
  std::string failure_;
};

}  // namespace partita::fibers

#endif  // PARTITA_TESTS_OPS_CUDA_FIBERS_FIBER_QUEUE_H_
