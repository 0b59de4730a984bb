#include "graph/plan/waits.h"

#include <gtest/gtest.h>

#include <random>
#include <set>

#include "graph/prove/verify_schedule.h"

namespace partita {
namespace {

constexpr int64_t kPitch = 7;

// The same bytes of every 7.
Access RandomColumns(std::mt19937_64& random) {
  const auto bytes = static_cast<int64_t>(1 + random() % (kPitch - 1));
  const auto rows = static_cast<int64_t>(random() % 8);
  const auto offset = static_cast<int64_t>(random() % (64 - rows * kPitch - bytes));
  return {{offset, rows * kPitch + bytes}, random() % 2 == 0, {kPitch, offset % kPitch, bytes}};
}

// Launches on random streams that read and write random bytes of a small arena, ranges and columns.
Schedule RandomSchedule(uint64_t seed, int launches, int streams) {
  std::mt19937_64 random(seed);
  Schedule schedule;
  schedule.streams = streams;
  schedule.memory.total = 64;
  schedule.states.push_back({"s", {DType::kU8, {64}, WholeBox({64})}, 0});
  schedule.lifetimes.push_back({"s", {0, 64}, 0, launches + 1, true});
  const auto host = [&](bool begin) {
    Launch launch;
    launch.name = begin ? "begin" : "end";
    launch.stream = schedule.host_stream();
    launch.work = HostLaunch{begin};
    schedule.launches.push_back(launch);
  };
  host(true);
  for (int l = 0; l < launches; ++l) {
    Launch launch;
    launch.name = "launch";
    launch.stream = static_cast<int>(random() % streams);
    for (int a = static_cast<int>(random() % 4); a > 0; --a) {
      const auto offset = static_cast<int64_t>(random() % 60);
      const ByteRange range{offset, static_cast<int64_t>(1 + random() % (64 - offset) % 8)};
      launch.accesses.push_back(random() % 3 > 0 ? Access{range, random() % 3 == 0} : RandomColumns(random));
    }
    launch.work = CopyLaunch{};
    schedule.launches.push_back(launch);
  }
  host(false);
  DeclareOrder(schedule);
  return schedule;
}

bool Touches(const Access& access, int64_t byte) {
  const int64_t behind = byte - access.range.offset;
  const bool in_columns = access.columns.all() || behind % kPitch < access.columns.bytes;
  return behind >= 0 && behind < access.range.bytes && in_columns;
}

bool Conflict(const Launch& a, const Launch& b) {
  for (const Access& x : a.accesses) {
    for (const Access& y : b.accesses) {
      bool overlap = false;
      for (int64_t byte = 0; byte < 64; ++byte) overlap = overlap || (Touches(x, byte) && Touches(y, byte));
      if (overlap && (x.write || y.write)) return true;
    }
  }
  return false;
}

using Matrix = std::vector<std::vector<bool>>;

// reach[a][b]: a ends before b starts, by streams and waits.
Matrix Reachability(const Schedule& schedule) {
  const size_t n = schedule.launches.size();
  Matrix reach(n, std::vector<bool>(n, false));
  for (size_t b = 0; b < n; ++b) {
    std::vector<size_t> direct(schedule.launches[b].waits.begin(), schedule.launches[b].waits.end());
    for (size_t a = b; a-- > 0;) {
      if (schedule.launches[a].stream != schedule.launches[b].stream) continue;
      direct.push_back(a);
      break;
    }
    for (size_t d : direct) {
      reach[d][b] = true;
      for (size_t a = 0; a < d; ++a) reach[a][b] = reach[a][b] || reach[a][d];
    }
  }
  return reach;
}

// Every needed order, from the definition.
std::set<std::pair<int, int>> NeededOrders(const Schedule& schedule) {
  std::set<std::pair<int, int>> needed;
  for (const OrderEdge& edge : schedule.order) needed.insert({edge.before, edge.after});
  for (int b = 0; b < static_cast<int>(schedule.launches.size()); ++b) {
    for (int a = 0; a < b; ++a) {
      if (Conflict(schedule.launches[a], schedule.launches[b])) needed.insert({a, b});
    }
  }
  return needed;
}

bool AllHold(const Matrix& reach, const std::set<std::pair<int, int>>& needed) {
  for (auto [a, b] : needed) {
    if (!reach[a][b]) return false;
  }
  return true;
}

TEST(AssignWaits, AreSufficientAndEachIsNecessary) {
  int waits = 0;
  for (uint64_t seed = 0; seed < 60; ++seed) {
    Schedule schedule = RandomSchedule(seed, 40, 1 + static_cast<int>(seed % 4));
    AssignWaits(schedule);
    const std::set<std::pair<int, int>> needed = NeededOrders(schedule);
    ASSERT_TRUE(AllHold(Reachability(schedule), needed)) << "seed " << seed;
    for (Launch& launch : schedule.launches) {
      const std::vector<int> all = launch.waits;
      for (size_t w = 0; w < all.size(); ++w, ++waits) {
        launch.waits = all;
        launch.waits.erase(launch.waits.begin() + static_cast<int64_t>(w));
        ASSERT_FALSE(AllHold(Reachability(schedule), needed)) << "seed " << seed << " wait for " << all[w];
      }
      launch.waits = all;
    }
  }
  EXPECT_GT(waits, 500);
}

// The verifier agrees with the definition on random waits, right and wrong.
TEST(VerifySchedule, AgreesWithTheDefinitionOnRandomSchedules) {
  int refused = 0;
  for (uint64_t seed = 0; seed < 300; ++seed) {
    std::mt19937_64 random(seed);
    Schedule schedule = RandomSchedule(seed, 25, 3);
    AssignWaits(schedule);
    ASSERT_TRUE(VerifySchedule(schedule).ok()) << VerifySchedule(schedule);
    for (Launch& launch : schedule.launches) {
      if (!launch.waits.empty() && random() % 12 == 0) launch.waits.pop_back();
    }
    const bool holds = AllHold(Reachability(schedule), NeededOrders(schedule));
    ASSERT_EQ(VerifySchedule(schedule).ok(), holds) << "seed " << seed << ": " << VerifySchedule(schedule);
    refused += !holds;
  }
  EXPECT_GT(refused, 50);
}

}  // namespace
}  // namespace partita
