// A value goes from one sub-mesh to another: the cases of arXiv 2211.05322's benchmark (algorithms.md 6.1) on small
// tensors. Two meshes are two coordinates of an axis `stage`; a mesh with fewer ranks leaves the others' blocks empty.
#include <gtest/gtest.h>

#include <algorithm>

#include "graph/moves/move_bytes.h"
#include "graph/moves/plan_exchange.h"
#include "tests/graph/adjoint_fixture.h"

namespace partita {
namespace {

struct Resharding {
  const char* name;
  Mesh mesh;
  Shape shape;
  std::string from, to;
};

const Mesh kTwice2x4{{{"stage", 2}, {"a", 2}, {"b", 4}}};
const Mesh kTwice3x4{{{"stage", 2}, {"a", 3}, {"b", 4}}};

const Resharding kCases[] = {
    {"same layout, dim 0 by 2", kTwice2x4, {7, 6, 4}, "stage:At0 a:S0 b:R", "stage:At1 a:S0 b:R"},
    {"R to dim 0 by 2", kTwice2x4, {7, 6, 4}, "stage:At0 a:R b:R", "stage:At1 a:S0 b:R"},
    {"dim 1 by 2 to dim 0 by 2", kTwice2x4, {7, 6, 4}, "stage:At0 a:S1 b:R", "stage:At1 a:S0 b:R"},
    {"dim 1 by 8 to dim 0 by 8", kTwice2x4, {9, 10, 3}, "stage:At0 a:S1 b:S1", "stage:At1 a:S0 b:S0"},
    {"dim 0 by 4 to dim 0 by 2", kTwice2x4, {9, 3, 2}, "stage:At0 a:R b:S0", "stage:At1 a:S0 b:R"},
    {"2 x 4 to 3 x 4, dim 0 by 2 to by 3",
     kTwice3x4,
     {12, 3, 2},
     "stage:At0 a:S0[0,6,12,12] b:R",
     "stage:At1 a:S0 b:R"},
    {"1 x 4 to 2 x 4, dim 0 by 4 to R", kTwice2x4, {6, 5, 2}, "stage:At0 a:At0 b:S0", "stage:At1 a:R b:R"},
    {"dim 1 by 2 to dim 2 by 2", kTwice2x4, {3, 6, 5}, "stage:At0 a:S1 b:R", "stage:At1 a:S2 b:R"},
};

// What the ranks lack of what they shall hold.
int64_t ElementsMissing(const Mesh& mesh, const Shape& shape, const Layout& from, const Layout& to) {
  int64_t missing = 0;
  for (int rank = 0; rank < mesh.size(); ++rank) {
    const std::optional<Box> wanted = LocalBox(to, shape, mesh, rank), held = LocalBox(from, shape, mesh, rank);
    if (wanted) missing += wanted->elements() - (held ? Intersect(*wanted, *held).elements() : 0);
  }
  return missing;
}

TEST(Resharding, ArrivesWithTheFewestBytes) {
  uint32_t seed = 0;
  for (const Resharding& c : kCases) {
    SCOPED_TRACE(c.name);
    const Layout from = ParseLayout(c.from, c.shape, c.mesh), to = ParseLayout(c.to, c.shape, c.mesh);
    const TensorType type{DType::kF64, c.shape};
    EXPECT_EQ(WireBytes(from, to, type, c.mesh), 8 * ElementsMissing(c.mesh, c.shape, from, to));
    AdjointTally tally;
    ExpectAdjoints(c.mesh, {{type, from, to, false}}, ++seed, tally);
    EXPECT_GE(tally.cases, 1);
  }
}

// Sub-meshes that overlap: what a rank of both holds already is not sent.
TEST(Resharding, BetweenOverlappingMeshes) {
  const Mesh mesh{{{"a", 4}}};
  const Shape shape = {6, 4};
  AdjointTally tally;
  for (const auto& [source, target] :
       {std::pair{"a:S0[0,3,6,6,6]", "a:S0[0,0,3,6,6]"}, std::pair{"a:S0[0,3,6,6,6]", "a:S1[0,0,2,4,4]"},
        std::pair{"a:S0[0,2,4,6,6]", "a:S0[0,0,2,4,6]"}}) {
    const Layout from = ParseLayout(source, shape, mesh), to = ParseLayout(target, shape, mesh);
    const TensorType type{DType::kF64, shape};
    EXPECT_EQ(WireBytes(from, to, type, mesh), 8 * ElementsMissing(mesh, shape, from, to));
    ExpectAdjoints(mesh, {{type, from, to, true}}, 1, tally);
  }
  EXPECT_EQ(tally.cases, 3);
}

std::vector<int64_t> ElementsSent(const Resharding& c) {
  const Layout from = ParseLayout(c.from, c.shape, c.mesh), to = ParseLayout(c.to, c.shape, c.mesh);
  std::vector<std::optional<Box>> before, after;
  for (int rank = 0; rank < c.mesh.size(); ++rank) {
    before.push_back(LocalBox(from, c.shape, c.mesh, rank));
    after.push_back(LocalBox(to, c.shape, c.mesh, rank));
  }
  std::vector<int64_t> sent(c.mesh.size(), 0);
  for (const TileSend& send : PlanExchange(before, after)) {
    if (send.from != send.to) sent[send.from] += send.tile.elements();
  }
  return sent;
}

// 4 tiles of 16 elements, held twice each, for 8 ranks that want two of them: each of the 8 holders sends two.
TEST(PlanExchange, ReplicasShareTheWork) {
  const std::vector<int64_t> sent = ElementsSent({"", kTwice2x4, {8, 8}, "stage:At0 a:R b:S0", "stage:At1 a:S0 b:R"});
  for (int rank = 0; rank < 16; ++rank) EXPECT_EQ(sent[rank], rank < 8 ? 32 : 0) << "rank " << rank;
}

TEST(PlanExchange, WhatOneRankAloneHoldsCountsFirst) {
  const Box left{{0}, {4}}, right{{4}, {4}}, whole{{0}, {8}};
  // Ranks 0 and 1 hold the left half, rank 2 the right one; rank 3 wants all, rank 4 the left half.
  const std::vector<TileSend> sends =
      PlanExchange({left, left, right, std::nullopt, std::nullopt}, {std::nullopt, left, std::nullopt, whole, left});
  EXPECT_EQ(sends, (std::vector<TileSend>{{1, 1, left}, {0, 3, left}, {2, 3, right}, {1, 4, left}}));
}

}  // namespace
}  // namespace partita
