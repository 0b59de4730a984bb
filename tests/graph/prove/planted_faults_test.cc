// Plans of memory with one mistake, in small graphs with every kind of shared bytes: VerifySchedule refuses each
// mistake by which a launch reads a foreign byte.
#include <gtest/gtest.h>

#include "tests/graph/prove/planted_plan.h"
#include "tests/graph/schedule/schedule_testing.h"

namespace partita {
namespace {

const AxisLayout R = AxisLayout::Replicate(), P = AxisLayout::Partial(), S0 = AxisLayout::Split(0);
const Attributes kSummand{{"partial", true}};

PlantedFaults Plant(const Graph& graph, bool columns = false, int64_t workspace_bytes = 0) {
  const Program program = ProgramOf(graph);
  const TestKernels kernels(workspace_bytes, columns);
  PlantedFaults all;
  for (int rank = 0; rank < program.ranks(); ++rank) {
    all += PlantedPlan(program, program.graph(kTrainEntry), rank, kernels, false).ExpectRefused(1, 3000);
  }
  return all;
}

// A summand is read before its bucket is summed by a launch that could take its place, and made after one could.
TEST(PlantedFaults, OfBuckets) {
  TestGraph builder({{{"data", 2}}});
  const ValueId a = builder.Op("fill", "a", {}, {6}, {P}, kSummand);
  const ValueId b = builder.Op("combine", "b", {a}, {6}, {P});
  const ValueId c = builder.Op("combine", "c", {b}, {6}, {P});
  const ValueId late = builder.Op("fill", "late", {}, {6}, {P}, kSummand);
  const std::vector<ValueId> sums = builder.Bucket("data", {a, b, late, a});
  const ValueId d = builder.Op("combine", "d", {late, sums[1]}, {6}, {P});
  const std::vector<ValueId> more = builder.Bucket("data", {c, d});
  const ValueId e = builder.Op("combine", "e", {more[0], sums[0]}, {6});
  builder.graph.metrics = {sums[2], builder.Op("combine", "f", {sums[3], e}, {6}), more[1]};
  const PlantedFaults planted = Plant(builder.graph);
  EXPECT_GE(planted.refused, 8);
}

TEST(PlantedFaults, OfStatesThatSwapStayAndAreUpdatedInPlace) {
  TestGraph builder;
  const ValueId x = builder.Input("x", {6});
  const ValueId a = builder.State("a", {6}), b = builder.State("b", {6}), c = builder.State("c", {6});
  const ValueId w = builder.Parameter("w", {6}), m = builder.Parameter("m", {6});
  builder.graph.SetUpdate(a, b);
  builder.graph.SetUpdate(b, a);
  const ValueId y = builder.Op("combine", "y", {x, w}, {6});
  const ValueId view = builder.Op("reshape", "view", {y}, {2, 3});
  const std::vector<ValueId> twins = builder.Twin("update", w, m);
  builder.graph.SetUpdate(w, twins[0]);
  builder.graph.SetUpdate(m, twins[1]);
  const ValueId z = builder.Op("combine", "z", {view}, {2, 3});
  const ValueId early = builder.Op("combine", "early", {c, y}, {6});
  builder.graph.SetUpdate(c, early);
  builder.graph.metrics = {a, c, builder.Op("combine", "late", {c, twins[0]}, {6}), z};
  const PlantedFaults planted = Plant(builder.graph, false, 24);
  EXPECT_GE(planted.refused, 40);
  EXPECT_GE(planted.accepted, 1);
}

TEST(PlantedFaults, OfColumns) {
  TestGraph builder;
  const ValueId x = builder.Op("fill", "x", {}, {4, 5});
  const ValueId a = builder.Op("combine", "a", {builder.Slice("left", x, 0, 2)}, {4, 2});
  const ValueId b = builder.Op("combine", "b", {builder.Slice("right", x, 2, 3)}, {4, 3});
  const ValueId y = builder.Concat("y", {a, b});
  const ValueId c = builder.Op("combine", "c", {a}, {4, 2});
  const ValueId d = builder.Op("combine", "d", {y, x}, {4, 5});
  builder.graph.metrics = {c, builder.Op("combine", "e", {d, y}, {4, 5})};
  const PlantedFaults planted = Plant(builder.graph, true);
  EXPECT_GE(planted.refused, 8);
}

TEST(PlantedFaults, OfMoves) {
  TestGraph builder({{{"data", 2}, {"model", 2}}});
  const ValueId x = builder.Input("x", {7, 4}, {S0, R});
  const ValueId w = builder.Parameter("w", {7, 4}, {R, R});
  const ValueId wide = builder.Move("all_gather", "data", x, {R, R});
  const ValueId y = builder.Op("combine", "y", {wide, w}, {7, 4}, {R, R});
  const ValueId s = builder.Op("combine", "s", {y}, {7, 4}, {P, R});
  const ValueId own = builder.Move("reduce_scatter", "data", s, {S0, R});
  const ValueId other = builder.Move("repartition", "data", own, {AxisLayout::Split(1), R});
  const ValueId back = builder.Move("all_gather", "data", other, {R, R});
  const ValueId sum = builder.Move("all_reduce", "model", builder.Op("combine", "t", {back}, {7, 4}, {R, P}), {R, R});
  builder.graph.SetUpdate(w, builder.Op("combine", "w.new", {w, sum}, {7, 4}));
  builder.graph.loss = builder.Op("combine", "loss", {sum, y}, {7, 4});
  const PlantedFaults planted = Plant(builder.graph, false, 40);
  EXPECT_GE(planted.refused, 40);
}

TEST(PlantedFaults, OfRandomGraphs) {
  PlantedFaults planted;
  for (uint64_t seed = 0; seed < 12; ++seed) planted += Plant(RandomGraph(seed, 40), false, seed % 2 == 0 ? 0 : 100);
  EXPECT_GE(planted.refused, 500);
  EXPECT_GE(planted.accepted, 50);
}

}  // namespace
}  // namespace partita
