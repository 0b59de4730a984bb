// Random networks under random strategies and flags, as they are and in two or three replicas: schedules of ranks that
// are alike, which are made of one another's, are to the last field those of each rank by itself. The number of a test
// is its seed.
#include <gtest/gtest.h>

#include <iostream>

#include "graph/make_program.h"
#include "ops/host/host_kernels.h"
#include "ops/registry.h"
#include "tests/graph/alike/expect_folded.h"
#include "tests/mutation/draw_network.h"

namespace partita {
namespace {

constexpr int kNetworks = 150;

class Folded : public testing::TestWithParam<int> {
 protected:
  static void TearDownTestSuite() {
    std::cout << displaced_ << " schedules of " << programs_ << " programs were those of other ranks, displaced\n";
    if (programs_ < 100) return;
    EXPECT_GT(displaced_, 2 * programs_);
  }

  void Expect(const Subject& subject) {
    SCOPED_TRACE(ToText(subject));
    absl::StatusOr<Graph> graph = GraphOf(subject);
    ASSERT_TRUE(graph.ok()) << graph.status();
    const Model model{subject.model, *std::move(graph), subject.optimizer, subject.learning_rate};
    const bool odd = GetParam() % 2 == 1;
    ProgramOptions options;
    options.floating = DType::kF64;
    options.fuse = odd;
    const absl::StatusOr<Program> program = MakeProgram(model, subject.strategy, Ops(), options);
    if (!program.ok()) return;  // for networks_test to judge
    ScheduleOptions schedule;
    schedule.compute_streams = 1 + GetParam() % 3;
    schedule.group_updates = odd;
    schedule.exchange_boxes = GetParam() % 4 < 2;
    schedule.overlap_halo = OverlapHalo::kOn;
    ++programs_;
    displaced_ += ExpectFolded(*program, *MakeHostKernels({.reference_only = true}), schedule);
  }

  // What was drawn, whole in each replica; samples are split, as evenly as they can be.
  static Subject InReplicas(Subject subject, Dice& dice) {
    std::vector<MeshAxis>& axes = subject.strategy.mesh.axes;
    axes.insert(axes.begin(), {"replicas", 2 + static_cast<int>(dice.Below(2))});
    subject.strategy.ops.push_back({"*", {{"replicas", {"samples", 0, {}}}}, {}});
    return subject;
  }

  static inline int displaced_ = 0, programs_ = 0;
};

TEST_P(Folded, IsWhatEachRankIsByItself) {
  Dice dice(GetParam());
  Subject subject = DrawNetwork(dice);
  subject.strategy = DrawStrategy(subject, dice);
  Expect(subject);
  Expect(InReplicas(subject, dice));
}

TEST_P(Folded, IsWhatEachRankIsByItselfUnderAnyFlags) {
  Dice dice(GetParam());
  Subject subject = DrawNetwork(dice);
  const absl::StatusOr<Strategy> strategy = DrawFlags(subject, dice);
  ASSERT_TRUE(strategy.ok()) << strategy.status();
  subject.strategy = *strategy;
  Expect(subject);
  Expect(InReplicas(subject, dice));
}

INSTANTIATE_TEST_SUITE_P(Seed, Folded, testing::Range(0, kNetworks));

}  // namespace
}  // namespace partita
