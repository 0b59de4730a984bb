// The ring keeps the last operations, whoever writes and reads meanwhile.
#include "runtime/flight_recorder/flight_ring.h"

#include <gtest/gtest.h>

#include <thread>

#include "runtime/flight_recorder/flight_recorder.h"

namespace partita {
namespace {

using State = FlownOperation::State;

FlightRing::Operation AllReduceOf(int64_t sequence, int group = 5) {
  return {group, sequence, "all_reduce", 10 * sequence, "f32"};
}

TEST(FlightRing, KeepsWhatHappensToAnOperation) {
  FlightRing ring;
  EXPECT_TRUE(ring.Read().empty());
  const uint64_t first = ring.Begin(AllReduceOf(1)), second = ring.Begin(AllReduceOf(2)),
                 third = ring.Begin(AllReduceOf(3));
  ring.SetWaiting(first, true);
  ring.End(second, true);
  ring.End(third, false);
  const std::vector<FlownOperation> flown = ring.Read();
  ASSERT_EQ(flown.size(), 3u);
  const State states[] = {State::kWaiting, State::kEnded, State::kFailed};
  for (size_t i = 0; i < flown.size(); ++i) {
    EXPECT_EQ(flown[i].group, 5);
    EXPECT_EQ(flown[i].sequence, static_cast<int64_t>(i) + 1);
    EXPECT_EQ(flown[i].count, 10 * flown[i].sequence);
    EXPECT_EQ(flown[i].name, "all_reduce");
    EXPECT_EQ(flown[i].dtype, "f32");
    EXPECT_EQ(flown[i].state, states[i]);
    EXPECT_EQ(flown[i].end != 0, i > 0);
    EXPECT_TRUE(flown[i].end == 0 || flown[i].end >= flown[i].begin);
  }
  ring.SetWaiting(first, false);
  EXPECT_EQ(ring.Read()[0].state, State::kRunning);
}

TEST(FlightRing, WhatAGpuIsToldToDoBeginsWhenItComesThere) {
  FlightRing ring;
  const uint64_t ticket = ring.Begin(AllReduceOf(1), State::kLaunched);
  const FlownOperation launched = ring.Read()[0];
  EXPECT_EQ(launched.state, State::kLaunched);
  EXPECT_FALSE(launched.pending());
  ring.Come(ticket);
  const FlownOperation begun = ring.Read()[0];
  EXPECT_EQ(begun.state, State::kWaiting);
  EXPECT_TRUE(begun.pending());
  EXPECT_GT(begun.begin, launched.begin);
}

TEST(FlightRing, KeepsTheLastOnes) {
  FlightRing ring;
  uint64_t first = 0;
  const auto all = static_cast<int64_t>(FlightRing::kEntries);
  for (int64_t sequence = 1; sequence <= 3 * all + 7; ++sequence) {
    const uint64_t ticket = ring.Begin(AllReduceOf(sequence));
    if (sequence == 1)
      first = ticket;
    else
      ring.End(ticket, true);
  }
  ring.End(first, false);  // overwritten long ago
  const std::vector<FlownOperation> flown = ring.Read();
  ASSERT_EQ(flown.size(), FlightRing::kEntries);
  for (size_t i = 0; i < flown.size(); ++i) {
    EXPECT_EQ(flown[i].sequence, 2 * all + 8 + static_cast<int64_t>(i));
    EXPECT_EQ(flown[i].state, State::kEnded);
  }
}

// What is read is one operation, never parts of two.
TEST(FlightRing, IsReadWhileItIsWritten) {
  FlightRing ring;
  std::atomic<bool> over{false};
  std::vector<std::thread> writers;
  for (int group = 0; group < 2; ++group) {
    writers.emplace_back([&, group] {
      for (int64_t sequence = 1; sequence <= 20'000; ++sequence) {
        const uint64_t ticket = ring.Begin(AllReduceOf(sequence, group));
        ring.SetWaiting(ticket, true);
        ring.End(ticket, true);
      }
    });
  }
  std::thread reader([&] {
    while (!over.load()) {
      for (const FlownOperation& flown : ring.Read()) ASSERT_EQ(flown.count, 10 * flown.sequence);
    }
  });
  for (std::thread& writer : writers) writer.join();
  over.store(true);
  reader.join();
  EXPECT_EQ(ring.Read().size(), FlightRing::kEntries);
}

TEST(FlightRecorder, KnowsRanksAndTheirGroups) {
  FlightRecorder recorder(4);
  recorder.Join(2, 0, {0, 1, 2, 3}).Begin(AllReduceOf(1, 0));
  recorder.Join(0, 7, {2, 0});
  FlightRing& same = recorder.Join(2, 7, {2, 0});
  same.Begin(AllReduceOf(1, 7));
  const std::vector<FlightRecord> records = recorder.Read();
  ASSERT_EQ(records.size(), 2u);
  EXPECT_EQ(records[0].rank, 0);
  EXPECT_EQ(records[1].rank, 2);
  EXPECT_EQ(records[1].ranks, 4);
  EXPECT_EQ(records[1].groups, (std::map<int, std::vector<int>>{{0, {0, 1, 2, 3}}, {7, {2, 0}}}));
  EXPECT_EQ(records[1].operations.size(), 2u);
  EXPECT_GE(records[1].time, records[1].operations[1].begin);
}

// Ranks on GPUs meet in steps in one world, and between steps in another.
TEST(FlightRecorder, WhatARankRecordedElsewhereComesBesideIt) {
  FlightRecorder steps(2), exchange(2);
  FlightRing& first = steps.Join(1, 0, {0, 1});
  FlightRing& second = exchange.Join(1, -1, {0, 1});
  first.Begin(AllReduceOf(1, 0));
  second.Begin(AllReduceOf(1, -1));
  first.Begin(AllReduceOf(2, 0));
  exchange.Join(0, -1, {0, 1});
  std::vector<FlightRecord> records = steps.Read();
  AddRecords(exchange.Read(), records);
  ASSERT_EQ(records.size(), 2u);
  EXPECT_EQ(records[0].rank, 1);
  EXPECT_EQ(records[0].groups.size(), 2u);
  ASSERT_EQ(records[0].operations.size(), 3u);
  for (const int place : {0, 1, 2}) EXPECT_EQ(records[0].operations[place].group, place == 1 ? -1 : 0);
  EXPECT_EQ(records[1].rank, 0);
}

}  // namespace
}  // namespace partita
