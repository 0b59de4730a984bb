// Which moves lead from one layout to another, and their bytes (docs/derivation.md 2 and 3).
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <random>

#include "graph/ir/group_key.h"
#include "graph/ir/move_kind.h"
#include "graph/moves/move_bytes.h"
#include "graph/moves/move_ops.h"
#include "graph/moves/plan_move.h"
#include "graph/moves/plan_reshard.h"

namespace partita {
namespace {

const Mesh kLine{{{"a", 3}}};
const Mesh kTwoByTwo{{{"data", 2}, {"model", 2}}};

Layout Parse(const std::vector<std::string>& axes) {
  Layout layout;
  for (const std::string& axis : axes) layout.push_back(*ParseAxisLayout(axis));
  return layout;
}

// "reduce_scatter(data) all_gather(model)"
std::string Steps(const std::vector<std::string>& from, const std::vector<std::string>& to, const Shape& shape,
                  const Mesh& mesh) {
  std::string text;
  for (const MoveStep& step : PlanMove(Parse(from), Parse(to), shape, mesh)) {
    text += std::string(text.empty() ? "" : " ") + Name(step.kind) + "(" + AxesName(step.axes, mesh) + ")";
  }
  return text;
}

TEST(PlanMove, EveryRowOfTheTable) {
  const Shape shape = {7, 4};
  const auto steps = [&](const char* from, const char* to) { return Steps({from}, {to}, shape, kLine); };
  EXPECT_EQ(steps("P", "R"), "all_reduce(a)");
  EXPECT_EQ(steps("S0", "R"), "all_gather(a)");
  EXPECT_EQ(steps("P", "S1"), "reduce_scatter(a)");
  EXPECT_EQ(steps("At1", "R"), "broadcast(a)");
  EXPECT_EQ(steps("P", "At2"), "sum_reduce(a)");
  EXPECT_EQ(steps("At0", "At2"), "send(a)");
  EXPECT_EQ(steps("S0", "At1"), "gather(a)");
  EXPECT_EQ(steps("At1", "S0"), "scatter(a)");
  EXPECT_EQ(steps("R", "S0"), "slice_move(a)");
  EXPECT_EQ(steps("R", "At0"), "drop(a)");
  EXPECT_EQ(steps("S0", "S1"), "repartition(a)");
  EXPECT_EQ(steps("S0", "S0[0,1,2,7]"), "repartition(a)");
  for (const char* from : {"S0", "At1", "R"}) EXPECT_EQ(steps(from, "P"), "zero_extend(a)");
  EXPECT_EQ(steps("S0", "S0[0,3,5,7]"), "") << "balanced cuts written out";
}

TEST(PlanMove, PartialAxesAreReducedTogether) {
  EXPECT_EQ(Steps({"P", "P"}, {"R", "R"}, {8}, kTwoByTwo), "all_reduce(data,model)");
  EXPECT_EQ(Steps({"P", "P"}, {"R", "S0"}, {8}, kTwoByTwo), "all_reduce(data) reduce_scatter(model)");
  EXPECT_EQ(Steps({"P", "S0"}, {"S0", "S0"}, {8}, kTwoByTwo), "all_reduce(data) repartition(data,model)")
      << "a scatter outside of an inner split is no scatter";
}

TEST(PlanMove, NestedSplitsChangeFromTheInnermost) {
  EXPECT_EQ(Steps({"S0", "S0"}, {"R", "R"}, {8}, kTwoByTwo), "all_gather(model) all_gather(data)");
  EXPECT_EQ(Steps({"S0", "S0"}, {"S0", "R"}, {8}, kTwoByTwo), "all_gather(model)");
  EXPECT_EQ(Steps({"S0", "S0"}, {"R", "S0"}, {8}, kTwoByTwo), "repartition(data,model)");
  EXPECT_EQ(Steps({"S0", "R"}, {"R", "S0"}, {8}, kTwoByTwo), "repartition(data,model)");
  EXPECT_EQ(Steps({"R", "R"}, {"S0", "S0"}, {8}, kTwoByTwo), "slice_move(data) slice_move(model)");
  EXPECT_EQ(Steps({"S0", "S1"}, {"S1", "S0"}, {8, 8}, kTwoByTwo), "repartition(data,model)");
  EXPECT_EQ(Steps({"S0", "At1"}, {"S0", "R"}, {8}, kTwoByTwo), "broadcast(model)");
}

TEST(PlanMove, SeveralAxesGoTogetherWhereThatMovesFewerBytes) {
  const Shape shape = {8, 8};
  EXPECT_EQ(Steps({"At0", "At0"}, {"At1", "At1"}, shape, kTwoByTwo), "repartition(data,model)") << "one way, not two";
  EXPECT_EQ(Steps({"At0", "At0"}, {"At1", "At0"}, shape, kTwoByTwo), "send(data)");
  EXPECT_EQ(Steps({"S0", "S1"}, {"At1", "At1"}, shape, kTwoByTwo), "repartition(data,model)");
  EXPECT_EQ(Steps({"At0", "At1"}, {"S0", "S1"}, shape, kTwoByTwo), "repartition(data,model)");
  EXPECT_EQ(Steps({"S0", "S1"}, {"S0[0,1,8]", "S1[0,1,8]"}, shape, kTwoByTwo), "repartition(data,model)");
  EXPECT_EQ(Steps({"S0", "S1"}, {"R", "R"}, shape, kTwoByTwo), "all_gather(model) all_gather(data)");
  EXPECT_EQ(Steps({"At0", "At0"}, {"R", "R"}, shape, kTwoByTwo), "broadcast(model) broadcast(data)");
}

TEST(PlanMove, SlicesComeFirst) {
  EXPECT_EQ(Steps({"R", "P"}, {"S0", "R"}, {8}, kTwoByTwo), "slice_move(data) all_reduce(model)");
  EXPECT_EQ(Steps({"R", "P"}, {"S0", "S0"}, {8}, kTwoByTwo), "slice_move(data) reduce_scatter(model)");
  EXPECT_EQ(Steps({"R", "P"}, {"At1", "R"}, {8}, kTwoByTwo), "drop(data) all_reduce(model)");
  EXPECT_EQ(Steps({"S0", "At1"}, {"S0", "S0"}, {8}, kTwoByTwo), "scatter(model)") << "the outer split stays";
}

TEST(PlanMove, SumsComeLast) {
  EXPECT_EQ(Steps({"S0", "S0"}, {"S0", "P"}, {8}, kTwoByTwo), "zero_extend(model)");
  EXPECT_EQ(Steps({"S0", "S0"}, {"P", "P"}, {8}, kTwoByTwo), "zero_extend(model) zero_extend(data)");
  EXPECT_EQ(Steps({"S0", "S0"}, {"P", "S0"}, {8}, kTwoByTwo), "repartition(data,model) zero_extend(data)");
  EXPECT_EQ(Steps({"S0", "S1"}, {"R", "P"}, {8, 8}, kTwoByTwo), "all_gather(data) zero_extend(model)");
  EXPECT_EQ(Steps({"S0"}, {"P(max)"}, {7}, kLine), "all_gather(a) zero_extend(a)");
  EXPECT_EQ(Steps({"P"}, {"P(max)"}, {7}, kLine), "all_reduce(a) zero_extend(a)");
  EXPECT_EQ(Steps({"R"}, {"P(max)"}, {7}, kLine), "zero_extend(a)");
}

TEST(PlanMove, GhostsComeLastAndGoFirst) {
  const Shape shape = {7, 4};
  const char* const copies = "S0(7x3/1-1)";
  const char* const summands = "S0(7x3/1-1,sum)";
  const auto steps = [&](const char* from, const char* to) { return Steps({from}, {to}, shape, kLine); };
  EXPECT_EQ(steps("S0", copies), "halo_exchange(a)");
  EXPECT_EQ(steps("R", copies), "slice_move(a)");
  EXPECT_EQ(steps("P", copies), "all_reduce(a) slice_move(a)");
  EXPECT_EQ(steps("At1", copies), "scatter(a)");
  EXPECT_EQ(steps("S1", copies), "repartition(a)");
  EXPECT_EQ(steps(summands, "S0"), "halo_exchange_adjoint(a)");
  EXPECT_EQ(steps(summands, "R"), "halo_exchange_adjoint(a) all_gather(a)");
  EXPECT_EQ(steps(summands, "P"), "zero_extend(a)");
  EXPECT_EQ(steps(summands, "S1"), "halo_exchange_adjoint(a) repartition(a)");
  EXPECT_EQ(Steps({"S0", "S1"}, {copies, "S1(4x3/1-1)"}, shape, kTwoByTwo), "halo_exchange(data) halo_exchange(model)");
  EXPECT_EQ(Steps({"S0", "S1"}, {copies, "R"}, shape, kTwoByTwo), "all_gather(model) halo_exchange(data)");
  EXPECT_EQ(Steps({summands, "P"}, {"S0", "S1"}, shape, kTwoByTwo),
            "halo_exchange_adjoint(data) reduce_scatter(model)");
  EXPECT_EQ(Steps({"S0", "S0"}, {copies, copies}, shape, kTwoByTwo), "halo_exchange(data,model)");
  EXPECT_EQ(Steps({summands, summands}, {"S0", "R"}, shape, kTwoByTwo),
            "halo_exchange_adjoint(data,model) all_gather(model)");
}

// For every pair of layouts the steps end where they should, and every layout on the way is one.
void ExpectAllPairsArrive(const Mesh& mesh, const std::vector<std::string>& forms, const Shape& shape, int least) {
  std::vector<Layout> layouts = {{}};
  for (size_t a = 0; a < mesh.axes.size(); ++a) {
    std::vector<Layout> longer;
    for (const Layout& layout : layouts) {
      for (const std::string& form : forms) {
        longer.push_back(layout);
        longer.back().push_back(*ParseAxisLayout(form));
      }
    }
    layouts = std::move(longer);
  }
  int pairs = 0;
  for (const Layout& from : layouts) {
    if (!CheckLayout(from, shape, mesh).ok()) continue;
    for (const Layout& to : layouts) {
      if (!CheckLayout(to, shape, mesh).ok()) continue;
      ++pairs;
      const std::string pair = ToString(from, mesh) + " -> " + ToString(to, mesh);
      const std::vector<MoveStep> steps = PlanMove(from, to, shape, mesh);
      for (const MoveStep& step : steps)
        EXPECT_TRUE(CheckLayout(step.to, shape, mesh).ok()) << pair << " " << Name(step.kind);
      const Layout& end = steps.empty() ? from : steps.back().to;
      for (int rank = 0; rank < mesh.size(); ++rank) {
        EXPECT_EQ(LocalBox(end, shape, mesh, rank), LocalBox(to, shape, mesh, rank)) << pair;
      }
      for (size_t a = 0; a < to.size(); ++a) EXPECT_EQ(end[a].partial(), to[a].partial()) << pair;
    }
  }
  EXPECT_GE(pairs, least);
}

TEST(PlanMove, AllPairsArrive) {
  ExpectAllPairsArrive(kTwoByTwo, {"R", "P", "P(max)", "S0", "S1", "At0", "At1", "S0[0,1,5]"}, {5, 3}, 3000);
  ExpectAllPairsArrive({{{"a", 2}, {"b", 1}, {"c", 2}}}, {"R", "P", "S0", "S1", "At0"}, {4, 2}, 15625);
}

TEST(PlanMove, SumsAndMaximaDoNotMix) {
  EXPECT_FALSE(CheckLayout(Parse({"P", "P(max)"}), {8}, kTwoByTwo).ok());
  EXPECT_TRUE(CheckLayout(Parse({"P(max)", "P(max)"}), {8}, kTwoByTwo).ok());
}

TEST(MoveBytes, AGroupOfOneMovesNothing) {
  const TensorType type{DType::kF32, {8}};
  EXPECT_EQ(BytesOfMove(MoveKind::kAllReduce, Parse({"P"}), Parse({"R"}), type, {{{"a", 1}}}, {0}), MoveBytes());
  EXPECT_EQ(BytesOfMove(MoveKind::kAllGather, Parse({"S0"}), Parse({"R"}), type, {{{"a", 1}}}, {0}), MoveBytes());
}

TEST(MoveBytes, FormulasOfTheDerivation) {
  const TensorType type{DType::kF32, {7, 4}};  // 112 bytes
  const auto bytes = [&](MoveKind kind, const char* from, const char* to) {
    return BytesOfMove(kind, Parse({from}), Parse({to}), type, kLine, {0, 1, 2});
  };
  EXPECT_EQ(bytes(MoveKind::kAllReduce, "P", "R"), (MoveBytes{112, 448}));
  EXPECT_EQ(bytes(MoveKind::kAllGather, "S0", "R"), (MoveBytes{112, 224}));
  EXPECT_EQ(bytes(MoveKind::kReduceScatter, "P", "S0"), (MoveBytes{112, 224}));
  EXPECT_EQ(bytes(MoveKind::kBroadcast, "At1", "R"), (MoveBytes{112, 224}));
  EXPECT_EQ(bytes(MoveKind::kSumReduce, "P", "At1"), (MoveBytes{112, 224}));
  EXPECT_EQ(bytes(MoveKind::kSend, "At0", "At2"), (MoveBytes{112, 112}));
  EXPECT_EQ(bytes(MoveKind::kGather, "S0", "At0"), (MoveBytes{64, 64}))
      << "blocks 3,2,2 rows; the first is there already";
  EXPECT_EQ(bytes(MoveKind::kScatter, "At0", "S0"), (MoveBytes{64, 64}));
  EXPECT_EQ(bytes(MoveKind::kRepartition, "S0", "S0[0,7,7,7]"), (MoveBytes{64, 64}));
  EXPECT_EQ(bytes(MoveKind::kSlice, "R", "S0"), MoveBytes());
  EXPECT_EQ(bytes(MoveKind::kZeroExtend, "S0", "P"), MoveBytes());
}

// The line {0,1,2}, and beside it {2,3} and {0,1,2} of four ranks.
class Departures : public testing::Test {
 protected:
  Layout From(const char* text) const { return On(1, text); }
  Layout On(int mesh, const char* text) const {
    Layout layout = Parse({text});
    layout.mesh = mesh;
    return layout;
  }
  Layout Departure(const char* from, const Layout& arrival) const {
    return DepartureFor(From(from), arrival, {DType::kF32, {7, 4}}, meshes_);
  }
  const std::vector<Mesh> meshes_ = {
      {{{"w", 4}}}, {{{"a", 3}}, "line", {0, 1, 2}, 1}, {{{"b", 2}}, "pair", {2, 3}, 2}, {{{"c", 3}}, "twin", {}, 3}};
};

TEST_F(Departures, BlocksGoAsTheyAre) {
  EXPECT_EQ(Departure("S0", On(2, "R")), From("S0"));
  EXPECT_EQ(Departure("At2", On(3, "S1")), From("At2"));
}

TEST_F(Departures, SumsGoTheCheapestWay) {
  // To one other rank: in blocks as a whole on one rank, the same bytes; the first of equals.
  EXPECT_EQ(Departure("P", On(2, "At1")), From("At0"));
  // To the same ranks whole: one all_reduce is as much as blocks gathered again, and comes first.
  EXPECT_EQ(Departure("P", On(3, "R")), From("R"));
  // To the same ranks in blocks: a reduce_scatter leaves nothing to move.
  EXPECT_EQ(Departure("P", On(3, "S1")), From("S1"));
}

TEST_F(Departures, ArriveWithoutSumsAndGhosts) {
  EXPECT_EQ(ArrivalFor(On(2, "P")), On(2, "At0"));
  EXPECT_EQ(ArrivalFor(On(2, "P(max)")), On(2, "R"));
  EXPECT_EQ(ArrivalFor(On(2, "S1(4x3/1-1)")), On(2, "S1"));
}

// docs/derivation.md 4.3: x f32[8,28,28,16], convolution 3x3 with padding 1, over two ranks. Margins are not sent.
TEST(MoveBytes, GhostRowsOfTheDerivation) {
  const TensorType type{DType::kF32, {8, 28, 28, 16}};
  const Mesh mesh{{{"height", 2}}};
  const auto bytes = [&](MoveKind kind, const char* from, const char* to) {
    return BytesOfMove(kind, Parse({from}), Parse({to}), type, mesh, {0, 1});
  };
  EXPECT_EQ(bytes(MoveKind::kHalo, "S1", "S1(28x3/1-1)"), (MoveBytes{28672, 28672}));
  EXPECT_EQ(bytes(MoveKind::kHaloAdjoint, "S1(28x3/1-1,sum)", "S1"), (MoveBytes{28672, 28672}));
  EXPECT_EQ(bytes(MoveKind::kHalo, "S1", "S1(14x2/2-0,clipped)"), MoveBytes()) << "whole windows on either side";
}

TEST(MoveBytes, WireBytesCountEveryGroup) {
  const TensorType type{DType::kF32, {64, 10}};
  EXPECT_EQ(WireBytes(Parse({"S0", "P"}), Parse({"S0", "R"}), type, kTwoByTwo), 2 * 2560);
  EXPECT_EQ(WireBytes(Parse({"S0", "R"}), Parse({"S0", "R"}), type, kTwoByTwo), 0);
}

// What the groups of moves send, group by group and rank by rank.
int64_t WireBytesByGroups(const Layout& from, const std::vector<MoveStep>& steps, const TensorType& type,
                          const Mesh& mesh) {
  int64_t bytes = 0;
  const Layout* layout = &from;
  for (const MoveStep& step : steps) {
    for (const int rank : mesh.Ranks()) {
      if (!mesh.Leads(rank, step.axes)) continue;
      bytes += BytesOfMove(step.kind, *layout, step.to, type, mesh, mesh.Group(rank, step.axes)).wire;
    }
    layout = &step.to;
  }
  return bytes;
}

// Rows in blocks of any kind; `copies` of ghosts lead nowhere, and summands of them come from nowhere.
Layout RandomLayout(std::mt19937& random, const Mesh& mesh, const Shape& shape, const char* ghosts) {
  const int64_t rows = shape[0];
  const std::string windows = fmt::format("S0({}x3/1-1{})", rows, ghosts),
                    strided = fmt::format("S0({}x2/2-1{})", (rows + 1) / 2, ghosts);
  Layout layout;
  do {
    layout.clear();
    for (const MeshAxis& axis : mesh.axes) {
      const std::vector<std::string> forms = {"R",     "P",     "S0",
                                              "S1",    "S1",    fmt::format("At{}", axis.size - 1),
                                              windows, strided, axis.size == 2 ? "S1[0,1,4]" : "S0"};
      layout.push_back(*ParseAxisLayout(forms[random() % forms.size()]));
    }
  } while (!CheckLayout(layout, shape, mesh).ok());
  return layout;
}

TEST(MoveBytes, WireBytesAreThoseOfAllGroups) {
  std::mt19937 random(7);
  int64_t moved = 0;
  for (const Mesh& mesh : {Mesh{{{"a", 2}, {"b", 3}, {"c", 2}}}, Mesh{{{"a", 2}, {"b", 1}, {"c", 2}, {"d", 2}}}}) {
    for (const Shape& shape : {Shape{7, 4}, Shape{1, 4}}) {
      const TensorType type{DType::kF64, shape};
      for (int i = 0; i < 500; ++i) {
        const Layout from = RandomLayout(random, mesh, shape, ",sum"), to = RandomLayout(random, mesh, shape, "");
        const std::vector<MoveStep> steps = PlanMove(from, to, shape, mesh);
        const int64_t bytes = WireBytes(from, steps, type, mesh);
        ASSERT_EQ(bytes, WireBytesByGroups(from, steps, type, mesh))
            << ToString(from, mesh) << " -> " << ToString(to, mesh);
        moved += bytes > 0 ? 1 : 0;
      }
    }
  }
  EXPECT_GT(moved, 1000);
}

}  // namespace
}  // namespace partita
