// Placements by Cbc are those of our own search and of brute force.
#include "run/solver/cbc.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <limits>
#include <random>

#include "partitioner/search/placement/heft.h"
#include "partitioner/search/placement/solve_placement.h"
#include "partitioner/search/placement_search.h"
#include "tests/partitioner/search/brute_force_placement.h"

namespace partita {
namespace {

constexpr double kAll = std::numeric_limits<double>::infinity();

class Cbc : public testing::Test {
 protected:
  void SetUp() override {
    if (!CbcSolver(60).ok()) GTEST_SKIP() << "the command cbc is not here (Debian's package coinor-cbc)";
    solver_ = *CbcSolver(60);
  }

  ProgramSolver solver_;
};

TEST_F(Cbc, EqualsBruteForceAndOwnSearch) {
  std::mt19937 random(13);
  int refused = 0;
  for (int i = 0; i < 60; ++i) {
    SCOPED_TRACE(i);
    const PlacementGraph graph = RandomPlacementGraph(random, i % 2 == 1);
    const int devices = i % 5 == 0 ? 3 : 2;
    const double bytes = i % 3 == 0 ? static_cast<double>(3 + random() % 6) : kAll;
    const double best = BestEndOfAll(graph, devices, bytes);
    const auto own = PlacementSearch(graph, {devices, bytes});
    const auto solved = SolvePlacement(graph, {devices, bytes}, {}, solver_);
    ASSERT_TRUE(solved.ok()) << solved.status();
    EXPECT_TRUE(solved->proven);
    ASSERT_EQ(solved->placement.device.empty(), best == kAll);
    ASSERT_EQ(own.ok(), best < kAll);
    if (best == kAll && ++refused) continue;
    EXPECT_EQ(solved->seconds, best);
    EXPECT_EQ(solved->seconds, own->seconds);
    EXPECT_EQ(solved->lower_bound, best);
    EXPECT_EQ(ReplayedEnd(graph, solved->placement), best);
    EXPECT_LE(FullestBytes(graph, solved->placement.device, devices), bytes);
    EXPECT_TRUE(KeepsTogether(graph, solved->placement.device));
  }
  EXPECT_GT(refused, 0);
  EXPECT_LT(refused, 15);
}

// 4 and 3 bytes are as many as a device has.
TEST_F(Cbc, FitsWhatJustFits) {
  PlacementGraph graph = GraphOf({3, 0, 5, 1, 6}, {{0, 1, 2, 0}, {1, 2, 3, 1}, {1, 3, 3, 1}, {1, 4, 3, 1}});
  const double bytes[] = {4, 0, 4, 2, 3};
  for (size_t op = 0; op < graph.ops.size(); ++op) graph.ops[op].bytes = bytes[op];
  const auto solved = SolvePlacement(graph, {2, 7}, {}, solver_);
  ASSERT_TRUE(solved.ok()) << solved.status();
  ASSERT_FALSE(solved->placement.device.empty());
  EXPECT_EQ(solved->seconds, BestEndOfAll(graph, 2, 7));
  EXPECT_TRUE(solved->proven);
}

TEST_F(Cbc, ProvesWhatIsKnown) {
  const PlacementGraph graph = GraphOf({2, 4, 4, 2}, {{0, 1, 1}, {0, 2, 1}, {1, 3, 1}, {2, 3, 1}});
  const auto own = PlacementSearch(graph, {2, kAll});
  ASSERT_TRUE(own.ok()) << own.status();
  const auto solved = SolvePlacement(graph, {2, kAll}, {own->plan, own->seconds, 0, false}, solver_);
  ASSERT_TRUE(solved.ok()) << solved.status();
  EXPECT_TRUE(solved->proven);
  EXPECT_EQ(solved->seconds, 9);
  EXPECT_EQ(solved->lower_bound, 9);
}

TEST(CbcSolver, SaysThatItIsNotHere) {
  const std::string path = std::getenv("PATH");
  setenv("PATH", "/nowhere", 1);
  const absl::Status status = CbcSolver(1).status();
  setenv("PATH", path.c_str(), 1);
  EXPECT_TRUE(absl::IsUnavailable(status));
  EXPECT_EQ(status.message(), "cbc does not start: No such file or directory; Debian's package coinor-cbc has it");
}

TEST_F(Cbc, NeedsAFolderForTemporaryFiles) {
  const char* const before = std::getenv("TMPDIR");
  const std::string folder = before == nullptr ? "" : before;
  const auto solve = [&](const char* temporary) {
    setenv("TMPDIR", temporary, 1);
    return SolvePlacement(GraphOf({1, 2}, {{0, 1, 1}}), {2, kAll}, {}, solver_).status();
  };
  const absl::Status refused = solve("/proc");
  EXPECT_TRUE(absl::IsResourceExhausted(refused)) << refused;
  EXPECT_EQ(refused.message(), "/proc: cannot make a folder for cbc: No such file or directory; set TMPDIR to another");
  EXPECT_TRUE(solve("/nowhere").ok());
  before == nullptr ? unsetenv("TMPDIR") : setenv("TMPDIR", folder.c_str(), 1);
}

// A program of that name which does something else.
absl::Status FailingWith(const std::string& script) {
  const std::filesystem::path folder = std::filesystem::path(testing::TempDir()) / "failing";
  std::filesystem::create_directories(folder);
  std::ofstream(folder / "cbc") << "#!/bin/sh\n[ $1 = quit ] && exit 0\n" << script << "\n";
  chmod((folder / "cbc").c_str(), 0755);
  const std::string path = std::getenv("PATH");
  setenv("PATH", (folder.string() + ":" + path).c_str(), 1);
  const auto solver = CbcSolver(1);
  EXPECT_TRUE(solver.ok()) << solver.status();
  const absl::Status status = SolvePlacement(GraphOf({1, 2}, {{0, 1, 1}}), {2, kAll}, {}, *solver).status();
  setenv("PATH", path.c_str(), 1);
  EXPECT_TRUE(absl::IsUnavailable(status)) << status;
  return status;
}

TEST(CbcSolver, SaysHowItFails) {
  EXPECT_EQ(FailingWith("exit 9").message(), "cbc ended with exit code 9");
  EXPECT_EQ(FailingWith("echo Current model not valid").message(),
            "cbc wrote no solution; the end of what it says: Current model not valid");
  EXPECT_EQ(FailingWith("for last; do :; done; echo Unbounded > $last").message(),
            "cbc found no answer: its solution begins with 'Unbounded'");
}

}  // namespace
}  // namespace partita
