// What the grid of fibers finds: each fault is planted once (faulty_kernels.cc), and what is right passes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <set>
#include <vector>

#include "tests/ops/cuda/fibers/faulty_kernels.h"
#include "tests/ops/cuda/fibers/fiber_queue.h"

namespace partita::fibers {
namespace {

using testing::HasSubstr;

using Floats = std::vector<float>;

int64_t BytesOf(const Floats& values) { return static_cast<int64_t>(values.size() * sizeof(float)); }

class Grid : public testing::Test {
 protected:
  void MayRead(const Floats& x) { memory_.Add("x", x.data(), BytesOf(x), false); }
  void MayWrite(const Floats& y) { memory_.Add("y", y.data(), BytesOf(y), true); }
  // What is wrong with a launch, in the order of `seed`.
  template <typename F>
  std::string Launched(const F& launch, uint64_t seed = 1) {
    FiberQueue queue(seed, memory_);
    const LaunchError error = launch(&queue);
    EXPECT_EQ(error == kLaunched, queue.failure().empty());
    return queue.failure();
  }

  Memory memory_;
};

TEST_F(Grid, FindsABarrierThatHalfOfTheThreadsReach) {
  const std::string failure = Launched(LaunchHalfABarrier);
  EXPECT_THAT(failure, HasSubstr("HalfABarrier: block "));
  EXPECT_THAT(failure, HasSubstr("32 have ended (the first is 32)"));
  EXPECT_THAT(failure, HasSubstr("32 wait in tests/ops/cuda/fibers/faulty_kernels.cc:"));
}

TEST_F(Grid, FindsBarriersAtTwoPlaces) {
  const std::string failure = Launched(LaunchTwoBarriers);
  EXPECT_THAT(failure, HasSubstr("do not meet"));
  EXPECT_THAT(failure, HasSubstr("(the first is 0)"));
  EXPECT_THAT(failure, HasSubstr("(the first is 1)"));
}

TEST_F(Grid, FindsALaneThatIsAskedButDoesNotGive) {
  EXPECT_THAT(Launched(LaunchAbsentLane), HasSubstr("__shfl_sync of lanes 0xffff needs lane 20"));
}

TEST_F(Grid, FindsALoadBehindATensor) {
  const Floats memory(80), x(40);
  Floats y(40);
  memory_.Add("x", memory.data(), 40 * 4, false);  // what lies behind it is not of this tensor
  MayWrite(y);
  EXPECT_EQ(Launched([&](CudaQueue queue) { return LaunchShifted(memory.data(), y.data(), 40, 0, queue); }), "");
  const std::string failure =
      Launched([&](CudaQueue queue) { return LaunchShifted(memory.data(), y.data(), 40, 1, queue); });
  EXPECT_THAT(failure, HasSubstr("block 1, thread 7: loads bytes 160 to 164 of x, which has 160"));
}

TEST_F(Grid, FindsAStoreBehindATensor) {
  const Floats x(41);
  Floats y(80);
  MayRead(x);
  memory_.Add("y", y.data(), 40 * 4, true);
  EXPECT_THAT(Launched([&](CudaQueue queue) { return LaunchShifted(x.data(), y.data(), 41, 0, queue); }),
              HasSubstr("stores bytes 160 to 164 of y, which has 160"));
  EXPECT_EQ(y[40], 0);  // found before it is done
}

TEST_F(Grid, FindsAStoreToAnInput) {
  Floats x(8);
  MayRead(x);
  EXPECT_THAT(Launched([&](CudaQueue queue) { return LaunchLastBlock(x.data(), 1, queue); }),
              HasSubstr("stores to x, which is only read"));
}

TEST_F(Grid, FindsWideAccessesOfUnalignedAddresses) {
  alignas(16) float x[9] = {}, y[9] = {};
  memory_.Add("x", x, sizeof x, false);
  memory_.Add("y", y, sizeof y, true);
  EXPECT_EQ(Launched([&](CudaQueue queue) { return LaunchPairs(x, y, 4, queue); }), "");
  EXPECT_THAT(Launched([&](CudaQueue queue) { return LaunchPairs(x + 1, y, 4, queue); }),
              HasSubstr("loads 8 bytes at once at a place of x that is not aligned"));
}

TEST_F(Grid, FindsCopiesAndZerosOutsideOfTensors) {
  const Floats x(8);
  Floats y(8);
  MayRead(x);
  MayWrite(y);
  EXPECT_EQ(Launched([&](CudaQueue queue) { return queue->Copy(y.data(), x.data(), 32); }), "");
  EXPECT_THAT(Launched([&](CudaQueue queue) { return queue->Zero(y.data(), 33); }), HasSubstr("stores bytes 32 to 33"));
}

// The results of twenty orders.
template <typename F>
std::set<Floats> Results(const F& run) {
  std::set<Floats> results;
  for (uint64_t seed = 1; seed <= 20; ++seed) results.insert(run(seed));
  return results;
}

TEST_F(Grid, OrdersOfBlocksTellOnAKernelThatDependsOnThem) {
  Floats y(1);
  MayWrite(y);
  const auto run = [&](uint64_t seed) {
    EXPECT_EQ(Launched([&](CudaQueue queue) { return LaunchLastBlock(y.data(), 7, queue); }, seed), "");
    return y;
  };
  EXPECT_GT(Results(run).size(), 3u);
}

// What no thread of the block has stored is poison, though another block has.
TEST_F(Grid, OrdersOfThreadsTellOnAMissingBarrier) {
  Floats y(128);
  MayWrite(y);
  const auto run = [&](uint64_t seed) {
    EXPECT_EQ(Launched([&](CudaQueue queue) { return LaunchNoBarrier(y.data(), 64, queue); }, seed), "");
    for (float& value : y) value = std::isnan(value) ? -1 : value;
    return y;
  };
  const std::set<Floats> results = Results(run);
  EXPECT_EQ(results.size(), 20u);
  for (const Floats& result : results) EXPECT_GT(std::ranges::count(result, -1.0f), 0);
}

TEST_F(Grid, ABarrierGivesAllThreadsWhatWasStored) {
  Floats y(128), expected(128);
  MayWrite(y);
  for (size_t i = 0; i < 128; ++i) expected[i] = static_cast<float>(63 - i % 64);
  const auto run = [&](uint64_t seed) {
    EXPECT_EQ(Launched([&](CudaQueue queue) { return LaunchBarrier(y.data(), 64, queue); }, seed), "");
    return y;
  };
  EXPECT_EQ(Results(run), std::set<Floats>{expected});
}

TEST_F(Grid, TheLastBlockAddsUpWhatTheOthersLeave) {
  Floats x(1000), partial(5), sum(1);
  for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i);
  unsigned counter = 0;
  MayRead(x);
  MayWrite(partial);
  memory_.Add("sum", sum.data(), 4, true);
  memory_.Add("counter", &counter, 4, true);
  const auto run = [&](uint64_t seed) {
    const auto launch = [&](CudaQueue queue) {
      return LaunchLastBlockSums(x.data(), 1000, 5, partial.data(), &counter, sum.data(), queue);
    };
    EXPECT_EQ(Launched(launch, seed), "");
    EXPECT_EQ(counter, 0u);
    return sum;
  };
  EXPECT_EQ(Results(run), std::set<Floats>{{499500}});
}

TEST_F(Grid, RefusesWhatADeviceRefuses) {
  EXPECT_THAT(Launched(LaunchLongArguments), HasSubstr("32768 bytes of arguments"));
  Floats y(2048);
  MayWrite(y);
  EXPECT_THAT(Launched([&](CudaQueue queue) { return LaunchBarrier(y.data(), 1025, queue); }),
              HasSubstr("a block of 1025 x 1 threads"));
  EXPECT_THAT(Launched([&](CudaQueue queue) { return LaunchLastBlock(y.data(), 0, queue); }),
              HasSubstr("a grid of 0 blocks"));
  EXPECT_THAT(Launched([&](CudaQueue queue) {
                return queue->Launch(&y, {1, 1, 1}, nullptr);
              }),
              HasSubstr("PARTITA_KERNEL_ADDRESS"));
}

}  // namespace
}  // namespace partita::fibers
