// The tables that `trainer tables` prints have the papers' golden numbers.
#include "tools/commands/tables/tables.h"

#include <gmock/gmock.h>

#include <cmath>

#include "tools/commands/tables/measured_table.h"

namespace partita {
namespace {

using ::testing::HasSubstr;

std::string Printed(const std::string& name) {
  for (const PaperTable& table : Tables()) {
    if (table.name != name) continue;
    const absl::StatusOr<std::string> text = table.print();
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

TEST(PrintedTables, TellEveryStrategy) {
  for (const char* strategy :
       {"data ", "spatial", "pipeline", "filter", "channel", "data + filter", "data + spatial"}) {
    EXPECT_THAT(Printed("strategies"), HasSubstr(std::string("\n") + strategy));
  }
}

}  // namespace
}  // namespace partita
