// The header's picture, moment by moment.
#include "graph/timeline/step_times.h"

#include <gtest/gtest.h>

namespace partita {
namespace {

// What of the launch matters: its kind.
template <typename Work>
const Launch* Of() {
  static const Launch& launch = *new Launch{.name = "launch", .waits = {}, .accesses = {}, .work = Work()};
  return &launch;
}

const Launch* const kKernel = Of<KernelLaunch>();
const Launch* const kCopy = Of<CopyLaunch>();
const Launch* const kCollective = Of<CollectiveLaunch>();
const Launch* const kHost = Of<HostLaunch>();

TEST(StepTimes, TheHeadersPicture) {
  const std::vector<LaunchSpan> spans = {{kHost, 0, 0},       {kKernel, 0, 4e-6},         {kCollective, 2e-6, 6e-6},
                                         {kCopy, 6e-6, 9e-6}, {kCollective, 8e-6, 11e-6}, {kKernel, 12e-6, 14e-6}};
  const StepTimes times = TimesOf(spans);
  EXPECT_DOUBLE_EQ(times.step, 14e-6);
  EXPECT_DOUBLE_EQ(times.compute, 9e-6);
  EXPECT_DOUBLE_EQ(times.communication, 7e-6);
  EXPECT_DOUBLE_EQ(times.exposed, 4e-6);
  EXPECT_DOUBLE_EQ(times.idle, 1e-6);
}

TEST(StepTimes, KernelsSideBySideCountOnce) {
  const StepTimes times = TimesOf(std::vector<LaunchSpan>{{kKernel, 0, 4e-6}, {kKernel, 1e-6, 6e-6}});
  EXPECT_DOUBLE_EQ(times.compute, 6e-6);
  EXPECT_EQ(times.idle, 0);
}

TEST(StepTimes, OfNothing) { EXPECT_EQ(TimesOf({}).step, 0); }

}  // namespace
}  // namespace partita
