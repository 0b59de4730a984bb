#include "runtime/device/host/spin.h"

#include <gtest/gtest.h>

#include "runtime/device/host/cores.h"

namespace partita {
namespace {

const int64_t kCores = UsableCores();

TEST(Spin, ThreadsThatFitTheCores) {
  EXPECT_TRUE(FitTheCores(kCores));
  EXPECT_GT(SpinOf(1).count(), 0);
  EXPECT_EQ(SpinOf(kCores), SpinOf(1));
}

TEST(Spin, ThreadsThatShareCoresSleepAtOnce) {
  EXPECT_FALSE(FitTheCores(kCores + 1));
  EXPECT_EQ(SpinOf(kCores + 1).count(), 0);
}

}  // namespace
}  // namespace partita
