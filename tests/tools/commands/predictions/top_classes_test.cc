#include "tools/commands/predictions/top_classes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

namespace partita {
namespace {

using ::testing::HasSubstr;

HostTensor Rows(const std::vector<std::vector<float>>& rows) {
  HostTensor tensor{DType::kF32, {static_cast<int64_t>(rows.size()), static_cast<int64_t>(rows[0].size())}, {}};
  for (const std::vector<float>& row : rows) {
    const char* const bytes = reinterpret_cast<const char*>(row.data());
    tensor.bytes.insert(tensor.bytes.end(), bytes, bytes + row.size() * sizeof(float));
  }
  return tensor;
}

TEST(TopClasses, AreThoseOfTheSoftmax) {
  const auto top = TopClasses(Rows({{0, std::log(3.0F), 0}, {1000, -1000, 999}}), "logits", true, 2);
  ASSERT_TRUE(top.ok()) << top.status();
  ASSERT_EQ(top->size(), 2u);
  EXPECT_EQ(top->at(0)[0].label, 1);
  EXPECT_NEAR(top->at(0)[0].probability, 0.6, 1e-7);
  EXPECT_EQ(top->at(0)[1].label, 0) << "of equal ones the lower label";
  EXPECT_NEAR(top->at(0)[1].probability, 0.2, 1e-7);
  EXPECT_EQ(top->at(1)[1].label, 2);
  EXPECT_NEAR(top->at(1)[1].probability, 1 / (1 + std::exp(1.0)), 1e-12);
}

TEST(TopClasses, ProbabilitiesStayAndFewClassesAreAll) {
  const auto top = TopClasses(Rows({{0.25, 0.75}}), "softmax", false, 5);
  ASSERT_TRUE(top.ok()) << top.status();
  ASSERT_EQ(top->at(0).size(), 2u);
  EXPECT_EQ(top->at(0)[0].probability, 0.75);
}

TEST(TopClasses, WhatHasNoProbabilitiesIsRefused) {
  const float nan = std::numeric_limits<float>::quiet_NaN(), infinity = std::numeric_limits<float>::infinity();
  for (const std::vector<float>& row : {std::vector<float>{0, nan}, {nan, 0}, {infinity, 0}, {-infinity, -infinity}}) {
    const auto refused = TopClasses(Rows({{0, 1}, row}), "logits", true, 1);
    EXPECT_EQ(refused.status().code(), absl::StatusCode::kOutOfRange);
    EXPECT_THAT(std::string(refused.status().message()), HasSubstr("value 'logits' of sample 1"));
  }
  EXPECT_TRUE(TopClasses(Rows({{-infinity, 1}}), "logits", true, 2).ok()) << "a masked class";
  HostTensor cube = Rows({{0, 1, 2, 3}});
  cube.shape = {1, 2, 2};
  EXPECT_THAT(std::string(TopClasses(cube, "x", true, 1).status().message()),
              HasSubstr("value 'x' is f32[1,2,2]; the most probable classes are those of a value [samples, classes]"));
}

TEST(TopClasses, ArePrintedWithNamesOrLabels) {
  const std::vector<std::vector<ClassProbability>> rows = {{{1, 0.75}, {2, 0.25}}};
  EXPECT_EQ(PrintTopClasses(rows, {}, {"a", "b, c"}, PredictionFormat::kCsv),
            "sample,class_1,probability_1,class_2,probability_2\n0,\"b, c\",0.75,2,0.25\n");
  EXPECT_EQ(PrintTopClasses(rows, {"x.png"}, {"a", "b"}, PredictionFormat::kJsonLines),
            R"({"sample":"x.png","top":[{"label":1,"class":"b","probability":0.75},)"
            R"({"label":2,"class":"2","probability":0.25}]})"
            "\n");
}

TEST(PrintPredictions, LinesOfJsonNestDimensions) {
  HostTensor tensor = Rows({{0, 1, 2, 3}});
  tensor.shape = {1, 2, 2};
  EXPECT_EQ(*PrintPredictions(tensor, "v", {}, PredictionFormat::kJsonLines), "{\"v\":[[0.0,1.0],[2.0,3.0]]}\n");
  tensor.dtype = DType::kI32;
  std::memset(tensor.bytes.data(), 0, tensor.bytes.size());
  EXPECT_EQ(*PrintPredictions(tensor, "v", {"s"}, PredictionFormat::kJsonLines),
            "{\"sample\":\"s\",\"v\":[[0,0],[0,0]]}\n");
}

}  // namespace
}  // namespace partita
