// The tables that `tables print` prints have the papers' golden numbers.
#include "tests/partitioner/papers/tables/tables.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <cmath>
#include <cstring>
#include <map>
#include <utility>

#include "tests/partitioner/papers/tables/measured_table.h"
#include "tests/partitioner/papers/tables/placement_table.h"
#include "tests/partitioner/papers/tables/strategies_table.h"

namespace partita {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::string Printed(const std::string& name) {
  for (const PaperTable& table : Tables()) {
    if (table.name != name) continue;
    const absl::StatusOr<std::string> text = table.print({});
    EXPECT_TRUE(text.ok()) << text.status();
    return *text;
  }
  ADD_FAILURE() << "no table " << name;
  return "";
}

TEST(PrintedTables, HaveTheGoldenNumbers) {
  EXPECT_THAT(Printed("grid"), HasSubstr("    32x16   100.345    11.231    17.688    78.744       9.762     0.772\n"));
  EXPECT_THAT(Printed("halo"), HasSubstr("m 55  (56,14,0,5) (56,14,2,5) (56,14,2,5) (56,13,2,0)\n"));
  EXPECT_THAT(Printed("groups"),
              HasSubstr("vgg-16        1x8     20.03         10.84    0.00         9.19       120.7"));
  EXPECT_THAT(Printed("nccl"), HasSubstr("8 x 16         ring         311.6    559.6   1190.0\n"));
  EXPECT_THAT(Printed("layerwise"), HasSubstr("n4           c4        17.141    0.741    0.668    18.550     112.8\n"));
  EXPECT_THAT(Printed("tipping"), HasSubstr("      64     36.57     42.24           1.155           1.143\n"));
  EXPECT_THAT(Printed("tipping"), HasSubstr("sooner from 64 devices on"));
  EXPECT_THAT(Printed("tipping"), HasSubstr("\nidentities: SU/M E(MN)/E(N) with M = 2"));
  EXPECT_THAT(Printed("tipping"), HasSubstr("      gnmt   1.15        1.878        8.0            8\n"));
  EXPECT_THAT(Printed("tipping"), HasSubstr("  big-lstm   1.22        2.000       22.0           22\n"));
}

// A table has the golden rows for the paper's sizes when they are given, and other rows for others.
TEST(PrintedTables, SizesAreTheCallers) {
  const auto printed = [](const PaperTable& table, const TableSizes& sizes) {
    const absl::StatusOr<std::string> text = table.print(sizes);
    EXPECT_TRUE(text.ok()) << text.status();
    return text.value_or("");
  };
  EXPECT_EQ(printed(GridTable(), {512, 2048}), printed(GridTable(), {}));
  const std::string six = printed(GridTable(), {6, 12});
  EXPECT_THAT(six, HasSubstr("P = 6, B = 12,"));
  for (const char* const row : {"1x6", "2x3", "3x2", "6x1"}) EXPECT_THAT(six, HasSubstr(fmt::format("\n{:>9} ", row)));
  EXPECT_THAT(printed(GroupsTable(), {8, 256}), HasSubstr("vgg-16        1x8     20.03"));
  EXPECT_THAT(printed(GroupsTable(), {8, 512}), Not(HasSubstr("vgg-16        1x8     20.03")));
  EXPECT_THAT(printed(HaloTable(), {.ranks = 2}), HasSubstr("n 224, 2 workers"));
  // Blocks without outputs.
  EXPECT_THAT(printed(HaloTable(), {.ranks = 12}), HasSubstr("n  10, 12 workers"));
  EXPECT_THAT(printed(NcclTable(), {.ranks = 128}), HasSubstr("8 x 16         ring         311.6    559.6   1190.0\n"));
  EXPECT_FALSE(NcclTable().print({.ranks = 12}).ok());
  EXPECT_THAT(printed(LayerwiseTable(), {4, 128}),
              HasSubstr("n4           c4        17.141    0.741    0.668    18.550"));
  const std::string odd = printed(StrategiesTable(), {.ranks = 3});
  EXPECT_THAT(odd, HasSubstr("3 devices are no whole number for each of 2 replicas"));
  EXPECT_THAT(odd, HasSubstr("\ndata                  3 "));
}

TEST(PrintedTables, TippingEndsWhereTheCurveDoes) {
  const EpochCurve curve = {"c", {{64, 4}, {128, 4}}};
  EXPECT_TRUE(FormatTipping(curve, {2, 1.5, 64, 2}).ok());
  EXPECT_FALSE(FormatTipping(curve, {2, 1.5, 64, 4}).ok());
}

// Speeds of data sheets and NCCL's own constants, nothing fitted.
TEST(PrintedTables, PredictionsAreNearWhatOthersMeasured) {
  const auto points = GradeMeasured();
  ASSERT_TRUE(points.ok()) << points.status();
  ASSERT_EQ(points->size(), 7U);
  double sum = 0;
  for (const GradedPoint& point : *points) {
    EXPECT_LT(std::abs(point.error()), 0.25) << point.what;
    sum += std::abs(point.error());
  }
  EXPECT_LT(sum / 7, 0.15);
  EXPECT_THAT(Printed("measured"), HasSubstr("hgx-h200: resnet-50 on 8 GPUs"));
  EXPECT_THAT(Printed("measured"), HasSubstr("dgx-1-v100: gnmt on 8 GPUs"));
}

TEST(PlacementTable, ToysAreThoseByHand) {
  const auto text = PlaceToys();
  ASSERT_TRUE(text.ok()) << text.status();
  const auto expect = [&](const char* what, int alone, const char* placed) {
    EXPECT_THAT(*text, HasSubstr(fmt::format("{} {:>{}} {:>11}\n", what, alone, 62 - std::strlen(what), placed)));
  };
  expect("A2 > B4 C4 > D2, a transfer takes 1", 12, "9");
  expect("the same, a transfer takes 3", 12, "11");
  expect("a transfer takes 1; of 1, 3, 3, 1 bytes 4 a device", 12, "9");
  expect("the same, 3.5 a device", 12, "none fits");
  expect("a transfer takes 1; A and D together", 12, "10");
  expect("A1 > B3 C5 D6 E2 > F1, a transfer takes no time", 18, "10");
  expect("the same, a transfer takes 1", 18, "11");
}

// As far as its branches go; with 64 samples the longest way through them is 67 % of all.
TEST(PlacementTable, InceptionIsPlacedAsWellAsCanBe) {
  const auto parts = PlaceInception();
  ASSERT_TRUE(parts.ok()) << parts.status();
  ASSERT_EQ(parts->size(), 8U);
  for (const PlacedPart& part : *parts) {
    EXPECT_LE(part.placed, part.heft) << part.part;
    EXPECT_LE(part.gap(), 0.03) << part.part;
    EXPECT_LT(part.longest, part.placed) << part.part;
  }
  const PlacedPart &many = (*parts)[0], &one = (*parts)[2];
  EXPECT_EQ(many.gap(), 0) << "proven";
  EXPECT_EQ(one.gap(), 0) << "proven";
  EXPECT_GT(many.speedup(), 1.41);
  EXPECT_GT(many.speedup(), 0.95 * many.alone / many.longest);
  EXPECT_LT(many.alone / many.longest, 1.49);
  EXPECT_GT(one.speedup(), 1.68);
  const PlacedPart &many_of_paper = (*parts)[4], &one_of_paper = (*parts)[6];
  EXPECT_EQ(many_of_paper.pools, PlacedPart::Pools::kFirst);
  EXPECT_EQ(many_of_paper.gap(), 0) << "proven";
  EXPECT_EQ(one_of_paper.gap(), 0) << "proven";
  EXPECT_GT(many_of_paper.speedup(), 1.43);
  EXPECT_GT(one_of_paper.speedup(), 1.69);
}

// What a plan's epoch takes of the formula's, at the least and the most (docs/papers.md 14.3 says why).
const std::map<ParallelForm, std::pair<double, double>> kShares = {
    {ParallelForm::kData, {0.87, 0.91}},       {ParallelForm::kSpatial, {0.95, 1.01}},
    {ParallelForm::kPipeline, {0.79, 0.91}},   {ParallelForm::kFilter, {0.73, 0.78}},
    {ParallelForm::kChannel, {0.79, 0.82}},    {ParallelForm::kDataFilter, {0.75, 0.78}},
    {ParallelForm::kDataSpatial, {0.94, 0.98}}};

// A plan computes what the formula says, and its sums of gradients are those of the formula, but hide behind kernels.
TEST(StrategiesTable, PlansAreNearTheFormulas) {
  const auto all = CompareStrategies();
  ASSERT_TRUE(all.ok()) << all.status();
  ASSERT_EQ(all->size(), 2 * std::size(kParallelForms));
  for (const ComparedStrategy& one : *all) {
    SCOPED_TRACE(fmt::format("{} on {}", Name(one.form), one.devices));
    const double share = one.simulated.step / one.formula.seconds();
    EXPECT_GE(share, kShares.at(one.form).first);
    EXPECT_LE(share, kShares.at(one.form).second);
    if (one.form == ParallelForm::kPipeline) continue;  // the formula's compute has what stages wait for
    EXPECT_NEAR(one.simulated.compute / one.formula.compute, 1, 0.1);
    if (one.form != ParallelForm::kData) continue;
    EXPECT_NEAR(one.simulated.communication / one.formula.communication, 1, 0.01);
    EXPECT_LT(one.simulated.exposed, 0.01 * one.simulated.communication);
  }
}

TEST(PrintedTables, TellEveryStrategy) {
  const std::string text = Printed("strategies");
  for (const char* strategy :
       {"data ", "spatial", "pipeline", "filter", "channel", "data + filter", "data + spatial"}) {
    EXPECT_THAT(text, HasSubstr(std::string("\n") + strategy));
  }
}

}  // namespace
}  // namespace partita
