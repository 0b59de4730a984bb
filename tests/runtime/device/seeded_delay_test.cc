#include "runtime/device/seeded_delay.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>

namespace partita {
namespace {

TEST(SeededDelay, IsSeldomShortAndReproducible) {
  const SeededDelay delay({3, 1.0 / 16, 200}, 0), same({3, 1.0 / 16, 200}, 0), other_stream({3, 1.0 / 16, 200}, 1),
      other_seed({4, 1.0 / 16, 200}, 0);
  int delayed = 0, stream_differs = 0, seed_differs = 0, replay_differs = 0;
  std::set<int> lengths;
  constexpr int kTasks = 16000;
  for (int task = 0; task < kTasks; ++task) {
    const int length = delay.Microseconds(task, 1);
    ASSERT_EQ(length, same.Microseconds(task, 1));
    ASSERT_GE(length, 0);
    ASSERT_LE(length, 200);
    delayed += length > 0;
    lengths.insert(length);
    stream_differs += length != other_stream.Microseconds(task, 1);
    seed_differs += length != other_seed.Microseconds(task, 1);
    replay_differs += length != delay.Microseconds(task, 2);
  }
  EXPECT_NEAR(delayed, kTasks / 16, 4 * std::sqrt(kTasks / 16));
  EXPECT_GT(lengths.size(), 190u);
  for (int differs : {stream_differs, seed_differs, replay_differs}) EXPECT_NEAR(differs, kTasks / 8, kTasks / 40);
}

TEST(SeededDelay, IsOffWithoutASeed) {
  const SeededDelay delay({std::nullopt, 1, 200}, 0);
  EXPECT_FALSE(delay.enabled());
  EXPECT_EQ(delay.Microseconds(5, 5), 0);
}

}  // namespace
}  // namespace partita
