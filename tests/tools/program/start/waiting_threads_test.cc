#include "tools/program/start/waiting_threads.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include "runtime/device/host/cores.h"

namespace partita {
namespace {

const int64_t kCores = UsableCores();

void Set(const char* policy, const char* rounds) {
  policy == nullptr ? unsetenv("OMP_WAIT_POLICY") : setenv("OMP_WAIT_POLICY", policy, 1);
  rounds == nullptr ? unsetenv("GOMP_SPINCOUNT") : setenv("GOMP_SPINCOUNT", rounds, 1);
}

TEST(WaitingThreads, SpinForAsLongAsIsSaid) {
  Set("passive", "10000");
  EXPECT_EQ(SpinRounds(1), 10'000);
  EXPECT_EQ(SpinRounds(kCores), 10'000);
  Set("active", "77");
  EXPECT_EQ(SpinRounds(1), 77);
}

TEST(WaitingThreads, SleepWhereTheyAreMoreThanTheCores) {
  Set("PASSIVE", "10000");
  EXPECT_EQ(SpinRounds(kCores + 1), 0);
}

TEST(WaitingThreads, WaitAsOpenMpWouldWhereLessIsSaid) {
  Set("passive", nullptr);
  EXPECT_EQ(SpinRounds(1), 0);
  Set(nullptr, nullptr);
  EXPECT_EQ(SpinRounds(1), 300'000);
  Set("active", nullptr);
  EXPECT_GT(SpinRounds(1), 300'000);
}

TEST(WaitingThreads, OfSeveralProcessesSleepWhereAllDoNotFit) {
  EXPECT_TRUE(WaitingOf(kCores, 1).empty());
  EXPECT_TRUE(WaitingOf(kCores + 1, 0).empty());  // each has its share of the cores, at least one thread
  const std::map<std::string, std::string> sleeping = {{"GOMP_SPINCOUNT", "0"}};
  EXPECT_EQ(WaitingOf(kCores, 2), sleeping);
}

}  // namespace
}  // namespace partita
