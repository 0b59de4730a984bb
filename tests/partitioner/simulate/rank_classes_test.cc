// Which ranks are alike, and which only look so.
#include "partitioner/simulate/rank_classes.h"

#include <gtest/gtest.h>

#include <numeric>

#include "graph/ir/group_key.h"
#include "tests/partitioner/simulate/toy.h"

namespace partita {
namespace {

using Ranks = std::vector<int>;

// One mesh with these axes, and the groups along each of them.
Program Along(std::vector<MeshAxis> axes) {
  Program program;
  program.meshes[0].axes = std::move(axes);
  for (int axis = 0; axis < static_cast<int>(program.meshes[0].axes.size()); ++axis) {
    const GroupKey key{0, 0, {axis}};
    for (std::vector<int>& ranks : GroupsOf(key, program.meshes)) program.groups.push_back({key, std::move(ranks)});
  }
  return program;
}

RankClasses ClassesOf(const Program& program, int nodes, const Ranks& work) {
  return ClassesOf(program, GroupTable(program), ToyCluster(nodes), work);
}

TEST(RankClasses, OneGroupOverAll) {
  const RankClasses classes = ClassesOf(Along({{"data", 4}}), 2, {0, 0, 0, 0});
  EXPECT_EQ(classes.of_rank, (Ranks{0, 0, 0, 0}));
  EXPECT_EQ(classes.first, Ranks{0});
  ASSERT_EQ(classes.groups.size(), 1u);
  EXPECT_EQ(classes.groups[0].ranks, (Ranks{0, 1, 2, 3}));
  EXPECT_EQ(classes.groups[0].classes, Ranks{0});
  EXPECT_EQ(classes.groups[0].left, (Ranks{1, 2})) << "both nodes";
  EXPECT_EQ(classes.groups[0].crossings, (Crossings{0, 1, 1}));
  EXPECT_EQ(ClassesOf(Along({{"data", 3}}), 2, {0, 0, 0}).of_rank, (Ranks{0, 0, 0})) << "all are in one group";
}

TEST(RankClasses, ReplicasOfWorkersThatDoDifferentThings) {
  const RankClasses classes = ClassesOf(Along({{"data", 4}, {"model", 2}}), 4, {5, 7, 5, 7, 5, 7, 5, 7});
  EXPECT_EQ(classes.of_rank, (Ranks{0, 1, 0, 1, 0, 1, 0, 1}));
  ASSERT_EQ(classes.groups.size(), 3u) << "two along data, four that are alike along model";
  EXPECT_EQ(classes.groups[2].classes, (Ranks{0, 1}));
  EXPECT_EQ(classes.groups[0].crossings, (Crossings{0, 1, 1, 1, 1}));
  EXPECT_EQ(classes.groups[2].crossings, (Crossings{0, 0, 0, 0, 0}));
}

// Groups of three on nodes of two: {0,1 | 2}, {3 | 4,5}, {6,7 | 8}, {9 | 10,11}.
TEST(RankClasses, WhoseGroupLiesOtherwiseIsNotAlike) {
  Program program = Along({{"data", 4}, {"model", 3}});
  std::erase_if(program.groups, [](const CommunicationGroup& group) { return group.key.axes == std::vector<int>{0}; });
  const RankClasses classes = ClassesOf(program, 6, Ranks(12, 0));
  EXPECT_EQ(classes.of_rank, (Ranks{0, 0, 0, 1, 1, 1, 0, 0, 0, 1, 1, 1}));
}

// The last rank works more, so its group along data is another, so are the ranks of this and their groups.
TEST(RankClasses, ADifferenceSpreadsToWhoeverWaitsForIt) {
  Ranks work(8, 0);
  work[7] = 1;
  const RankClasses classes = ClassesOf(Along({{"data", 4}, {"model", 2}}), 4, work);
  EXPECT_EQ(classes.of_rank, (Ranks{0, 1, 0, 1, 0, 1, 2, 3}));
}

// {0,2} and {4,6} are alike but for 1 and 3, who share the ways of {0,2}; 5 and 7 have nobody to meet.
TEST(RankClasses, WhoSharesAWayWithOthersIsNotAlike) {
  Program program;
  program.meshes[0].axes = {{"ranks", 8}};
  program.groups = {{{0, 0, {0}}, {0, 2}}, {{0, 0, {0}}, {4, 6}}, {{0, 0, {1}}, {1, 3}}};
  const RankClasses classes = ClassesOf(program, 4, Ranks(8, 0));
  EXPECT_NE(classes.of_rank[0], classes.of_rank[4]);
  EXPECT_EQ(classes.of_rank[0], classes.of_rank[2]);
  EXPECT_EQ(classes.of_rank[5], classes.of_rank[7]);
}

TEST(RankClasses, RanksThatDifferFromTheBeginningStayApart) {
  Ranks work(8);
  std::iota(work.begin(), work.end(), 0);
  EXPECT_EQ(ClassesOf(Along({{"data", 4}, {"model", 2}}), 4, work).of_rank, work);
}

TEST(RankClasses, ThousandsOfRanksAreAFew) {
  const Program program = Along({{"data", 1024}, {"model", 4}});
  EXPECT_EQ(ClassesOf(program, 2048, Ranks(4096, 0)).first.size(), 1u);
}

}  // namespace
}  // namespace partita
