#include "runtime/device/host/signal.h"

#include <gtest/gtest.h>

#include <limits>
#include <thread>
#include <vector>

namespace partita {
namespace {

TEST(Signal, ReachesWhatItWasRaisedTo) {
  Signal signal;
  EXPECT_TRUE(signal.Reached(0));
  EXPECT_FALSE(signal.Reached(1));
  signal.Raise(5);
  EXPECT_TRUE(signal.Reached(1));
  EXPECT_TRUE(signal.Reached(5));
  EXPECT_FALSE(signal.Reached(6));
  signal.Await(3);  // returns
}

TEST(Signal, MayWrapAround) {
  Signal signal;
  constexpr uint32_t kLast = std::numeric_limits<uint32_t>::max();
  signal.Raise(kLast / 2);
  signal.Raise(kLast - 1);
  EXPECT_TRUE(signal.Reached(kLast - 1));
  EXPECT_FALSE(signal.Reached(0));
  signal.Raise(0);
  EXPECT_TRUE(signal.Reached(kLast));
  EXPECT_FALSE(signal.Reached(1));
}

// Several threads wait for each of many values in turn; what was written before a raise is seen after the wait.
TEST(Signal, NoWakeIsLost) {
  constexpr uint32_t kRounds = 3000;
  constexpr int kThreads = 3;
  Signal raised, passed[kThreads];
  uint32_t written = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&, i] {
      for (uint32_t round = 1; round <= kRounds; ++round) {
        raised.Await(round);
        EXPECT_EQ(written, round);
        passed[i].Raise(round);
      }
    });
  }
  for (uint32_t round = 1; round <= kRounds; ++round) {
    written = round;
    raised.Raise(round);
    for (Signal& signal : passed) signal.Await(round);
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace partita
