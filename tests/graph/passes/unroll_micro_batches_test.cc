// A batch in parts, text to text.
#include "graph/passes/unroll_micro_batches.h"

#include <gtest/gtest.h>

#include "graph/passes/prepare_training.h"
#include "graph/text/text.h"
#include "ops/registry.h"
#include "tests/graph/parse.h"
#include "tests/graph/stateful_text.h"

namespace partita {
namespace {

TEST(UnrollMicroBatches, WhatFollowsTheSamplesStandsOnceForEach) {
  const Graph graph = Parse(R"(%x = input() f32[4,3]
%t = input() i32[4]
%w = parameter() initializer=constant f32[3,2]
%y = matmul(%x, %w) f32[4,2]
%l = softmax_cross_entropy(%y, %t, _) f32[]
loss %l
)");
  const absl::StatusOr<Graph> unrolled = UnrollMicroBatches(graph, 2, Ops());
  ASSERT_TRUE(unrolled.ok()) << unrolled.status();
  EXPECT_EQ(ToText(*unrolled), R"(%x@micro0 = input() field=x f32[2,3]
%x@micro1 = input() field=x f32[2,3]
%t@micro0 = input() field=t i32[2]
%t@micro1 = input() field=t i32[2]
%w = parameter() initializer=constant f32[3,2]
%y@micro0 = matmul(%x@micro0, %w) f32[2,2]
%y@micro1 = matmul(%x@micro1, %w) f32[2,2]
%l@micro0 = softmax_cross_entropy(%y@micro0, %t@micro0, _) batch=4 f32[]
%l@micro1 = softmax_cross_entropy(%y@micro1, %t@micro1, _) batch=4 f32[]
%l@sum = add(%l@micro0, %l@micro1) f32[]
loss %l@sum
)");
}

// The mean divides by the batch that the graph states, not by the rows of the node.
TEST(UnrollMicroBatches, AStatedBatchStays) {
  const Graph graph = Parse(R"(%x = input() f32[4,3]
%m = mean(%x) axes=[0] batch=12 f32[3]
%q = mean_squared_error(%x, %x, _) batch=8 f32[]
metric %q
)");
  const absl::StatusOr<Graph> unrolled = UnrollMicroBatches(graph, 2, Ops());
  ASSERT_TRUE(unrolled.ok()) << unrolled.status();
  const std::string text = ToText(*unrolled);
  EXPECT_NE(text.find("%m@micro1 = mean(%x@micro1) axes=[0] batch=12 f32[3]"), std::string::npos) << text;
  EXPECT_NE(text.find("%q@micro1 = mean_squared_error(%x@micro1, %x@micro1, _) batch=8 f32[]"), std::string::npos);
}

// Of six samples.
Graph NormalizedByThrees() {
  return Parse(BatchNormText(
      "%y = batch_norm(%x, %gamma, %beta, %mean, %variance) statistics_samples=3 f32[6,5,5,4]\nmetric %y\n"));
}

// Running statistics are updated once, from the groups of all micro-batches in their order.
TEST(UnrollMicroBatches, WhatNeedsTheWholeBatchGetsItsPartsSetTogether) {
  const absl::StatusOr<Graph> prepared = PrepareTraining(NormalizedByThrees(), Ops());
  ASSERT_TRUE(prepared.ok()) << prepared.status();
  const absl::StatusOr<Graph> unrolled = UnrollMicroBatches(*prepared, 2, Ops());
  ASSERT_TRUE(unrolled.ok()) << unrolled.status();
  const std::string text = ToText(*unrolled);
  EXPECT_NE(text.find("%y@statistics@whole = concat(%y@statistics@micro0, %y@statistics@micro1)"), std::string::npos);
  EXPECT_NE(text.find("batch_norm_running(%y@statistics@whole, %mean, %variance, _)"), std::string::npos) << text;
}

// A micro-batch reads its rows of a state, which is written once, from those of all.
TEST(UnrollMicroBatches, StatesAreReadInPartsAndWrittenWhole) {
  const absl::StatusOr<Graph> prepared = PrepareTraining(Parse(CarriedText()), Ops());
  ASSERT_TRUE(prepared.ok()) << prepared.status();
  const absl::StatusOr<Graph> unrolled = UnrollMicroBatches(*prepared, 2, Ops());
  ASSERT_TRUE(unrolled.ok()) << unrolled.status();
  const std::string text = ToText(*unrolled);
  for (const char* const line :
       {"%y@h@micro1 = slice(%y@h) begin=[2,0] size=[2,2] f32[2,2]\n",
        "= lstm_steps(%g@micro1, %w, _, %y@h@micro1, %y@c@micro1, _)",
        "%y@last@whole = concat(%y@last@micro0, %y@last@micro1) axis=0 f32[4,2]\n",
        "%y@h@next = carry(%y@h, %y@last@whole, _, _, _) f32[4,2]\n", "state %y@h = %y@h@next\n"}) {
    EXPECT_NE(text.find(line), std::string::npos) << line << text;
  }
}

TEST(UnrollMicroBatches, RefusesPartsThatDoNotFit) {
  const Graph graph = Parse("%x = input() f32[6,3]\n%y = relu(%x) f32[6,3]\nmetric %y\n");
  EXPECT_EQ(UnrollMicroBatches(graph, 4, Ops()).status().message(),
            "node 'x': micro_batches is 4, which does not divide the batch of 6 samples");
  const absl::StatusOr<Graph> prepared = PrepareTraining(NormalizedByThrees(), Ops());
  ASSERT_TRUE(prepared.ok()) << prepared.status();
  EXPECT_EQ(UnrollMicroBatches(*prepared, 3, Ops()).status().message(),
            "node 'y@statistics': micro-batches of 2 samples cut the batch statistics, which are over 3 samples; a "
            "statistics_samples that divides 2 is needed");
}

}  // namespace
}  // namespace partita
