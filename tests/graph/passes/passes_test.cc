// Each pass that has no file of its own here is its picture, text to text.
#include <gtest/gtest.h>

#include "graph/passes/convert_dtype.h"
#include "graph/passes/decompose.h"
#include "graph/passes/drop_unused.h"
#include "graph/text/text.h"
#include "ops/registry.h"
#include "tests/graph/parse.h"

namespace partita {
namespace {

TEST(DropUnused, WhatNobodyNeedsGoes) {
  const Graph graph = Parse(R"(%x = input() f32[4]
%a = relu(%x) f32[4]
%b = relu(%x) f32[4]
metric %b
)");
  EXPECT_EQ(ToText(DropUnused(graph)), "%x = input() f32[4]\n%b = relu(%x) f32[4]\nmetric %b\n");
}

TEST(DropTrainingOnly, TheLossAndWhatOnlyItNeedsGo) {
  constexpr char kBoth[] = R"(state %w
state %v
%x = input() f32[4]
%y = input() f32[4]
%w = parameter() initializer=constant f32[4]
%v = parameter() initializer=constant f32[4]
%a = mul(%x, %w) f32[4]
%l = sum(%a) f32[]
%b = mul(%y, %v) f32[4]
%m = sum(%b) f32[]
%n = mean(%a) f32[]
loss %l
)";
  const std::string further = "further_loss %n 0.5\n";
  EXPECT_EQ(ToText(DropTrainingOnly(Parse(kBoth + further + "further_loss %m -2.0 training_only\n"))),
            R"(state %w
state %v
%x = input() f32[4]
%w = parameter() initializer=constant f32[4]
%v = parameter() initializer=constant f32[4]
%a = mul(%x, %w) f32[4]
%l = sum(%a) f32[]
%n = mean(%a) f32[]
loss %l
further_loss %n 0.5
)");
  const Graph all = Parse(kBoth + further);
  EXPECT_EQ(ToText(DropTrainingOnly(all)), ToText(all));
}

TEST(Decompose, ALossOverSplitClassesIsTakenApart) {
  const Graph graph = Parse(R"(%x = input() f32[6,4]
%t = input() i32[6]
%l = softmax_cross_entropy(%x, %t, _) label_smoothing=0.1 f32[]
%y = log_softmax(%x) f32[6,4]
loss %l
metric %y
)");
  Strategy strategy;
  strategy.mesh.axes = {{"model", 2}};
  strategy.ops.push_back({"l", {{"model", {"classes", 0, {}}}}, {}});
  const absl::StatusOr<Graph> split = Decompose(graph, strategy, Ops());
  ASSERT_TRUE(split.ok()) << split.status();
  EXPECT_EQ(ToText(*split), R"(%x = input() f32[6,4]
%t = input() i32[6]
%l@maximum = row_maximum(%x) f32[6]
%l@exponentials = row_exponentials(%x, %l@maximum) f32[6]
%l = cross_entropy(%x, %t, _, %l@maximum, %l@exponentials) label_smoothing=0.1 f32[]
%y = log_softmax(%x) f32[6,4]
loss %l
metric %y
)");
  strategy.ops[0].pattern = "?";
  const absl::StatusOr<Graph> both = Decompose(graph, strategy, Ops());
  ASSERT_TRUE(both.ok()) << both.status();
  EXPECT_NE(ToText(*both).find("%y = log_softmax_normalize(%x, %y@maximum, %y@exponentials) f32[6,4]\n"),
            std::string::npos)
      << ToText(*both);
}

TEST(Decompose, WhatIsNotSplitStaysWhole) {
  const std::string text = "%x = input() f32[6,4]\n%y = log_softmax(%x) f32[6,4]\nmetric %y\n";
  Strategy strategy;
  strategy.mesh.axes = {{"model", 2}, {"one", 1}};
  strategy.ops = {{"y", {{"model", {"samples", 0, {}}}, {"one", {"classes", 0, {}}}}, {}}};
  const absl::StatusOr<Graph> same = Decompose(Parse(text), strategy, Ops());
  ASSERT_TRUE(same.ok()) << same.status();
  EXPECT_EQ(ToText(*same), text);
}

TEST(ConvertDType, FloatsChangeIntegersStay) {
  const Graph graph = Parse(R"(%x = input() f32[4,3]
%t = input() i32[4]
%l = softmax_cross_entropy(%x, %t, _) f32[]
loss %l
)");
  EXPECT_EQ(ToText(ConvertDType(graph, DType::kF64)), R"(%x = input() f64[4,3]
%t = input() i32[4]
%l = softmax_cross_entropy(%x, %t, _) f64[]
loss %l
)");
}

}  // namespace
}  // namespace partita
