// From the user's graph to those of its entry points, text to text.
#include <gtest/gtest.h>

#include "graph/passes/prepare_evaluation.h"
#include "graph/passes/prepare_training.h"
#include "graph/text/text.h"
#include "ops/registry.h"
#include "tests/graph/parse.h"
#include "tests/graph/stateful_text.h"

namespace partita {
namespace {

TEST(PrepareEvaluation, AMeanOverSamplesIsOneOfWeighedSamples) {
  const Graph graph = Parse(R"(state %w
%x = input() f32[6,5,3]
%w = parameter() initializer=constant f32[6,3]
%rows = reshape(%x) f32[30,3]
%mean = mean(%rows) f32[]
%of_each = mean(%x) axes=[1,2] f32[6]
%norm = mean(%w) f32[]
metric %mean
metric %norm
)");
  const absl::StatusOr<Graph> prepared = PrepareEvaluation(graph, Ops());
  ASSERT_TRUE(prepared.ok()) << prepared.status();
  EXPECT_EQ(ToText(*prepared), R"(state %w
%x = input() f32[6,5,3]
%w = parameter() initializer=constant f32[6,3]
%rows = reshape(%x) f32[30,3]
%@sample_weight = input() f32[6]
%@sample_weight@rows5@apart = expand(%@sample_weight) axes=[1] sizes=[5] f32[6,5]
%@sample_weight@rows5 = reshape(%@sample_weight@rows5@apart) f32[30]
%mean@of_elements = expand(%@sample_weight@rows5) axes=[1] sizes=[3] f32[30,3]
%mean@weighed = mul(%rows, %mean@of_elements) f32[30,3]
%mean = mean(%mean@weighed) f32[]
%of_each = mean(%x) axes=[1,2] f32[6]
%norm = mean(%w) f32[]
metric %mean
metric %norm
)");
}

// A constant and a column of samples, neither of the result's shape: the samples lead, so that what is made of them is
// weighed.
TEST(PrepareEvaluation, WhatBroadcastsIsOfTheSamples) {
  const Graph graph = Parse(R"(%x = input() f32[6,1]
%c = parameter() initializer=constant f32[1,4]
%y = add(%c, %x) f32[6,4]
%mean = mean(%y) f32[]
metric %mean
)");
  const absl::StatusOr<Graph> prepared = PrepareEvaluation(graph, Ops());
  ASSERT_TRUE(prepared.ok()) << prepared.status();
  EXPECT_NE(ToText(*prepared).find("%mean@weighed = mul(%y, %mean@of_elements)"), std::string::npos)
      << ToText(*prepared);
}

TEST(PrepareEvaluation, NoTargetIsSmoothed) {
  const Graph graph = Parse(R"(%x = input() f32[6,5]
%labels = input() i32[6]
%loss = softmax_cross_entropy(%x, %labels, _) label_smoothing=0.1 f32[]
metric %loss
)");
  const absl::StatusOr<Graph> evaluation = PrepareEvaluation(graph, Ops()), training = PrepareTraining(graph, Ops());
  ASSERT_TRUE(evaluation.ok() && training.ok()) << evaluation.status() << training.status();
  EXPECT_NE(ToText(*evaluation).find("softmax_cross_entropy(%x, %labels, %@sample_weight) f32[]"), std::string::npos)
      << ToText(*evaluation);
  EXPECT_NE(ToText(*training).find("softmax_cross_entropy(%x, %labels, _) label_smoothing=0.1"), std::string::npos);
}

TEST(PrepareTraining, BatchNormIsStatisticsAndNormalize) {
  const Graph graph =
      Parse(BatchNormText("%y = batch_norm(%x, %gamma, %beta, %mean, %variance) statistics_samples=3 f32[6,5,5,4]\n"
                          "%z = dropout(%y, _) rate=0.2 f32[6,5,5,4]\nmetric %z\n"));
  const absl::StatusOr<Graph> prepared = PrepareTraining(graph, Ops());
  ASSERT_TRUE(prepared.ok()) << prepared.status();
  EXPECT_EQ(ToText(*prepared), R"(state %mean = %y@running_mean
state %variance = %y@running_variance
state %@iteration
%@iteration = state() initializer=constant scale=0.0 i32[]
%x = input() f32[6,5,5,4]
%gamma = parameter() initializer=constant f32[4]
%beta = parameter() initializer=constant f32[4]
%mean = state() initializer=constant f32[4]
%variance = state() initializer=constant f32[4]
%y@statistics = batch_norm_statistics(%x, %mean) samples=3 f64[2,2,4]
%y = batch_norm_normalize(%x, %y@statistics, %mean, %gamma, %beta) samples=3 f32[6,5,5,4]
%y@running_mean, %y@running_variance = batch_norm_running(%y@statistics, %mean, %variance, _) count=75 f32[4], f32[4]
%z = dropout(%y, %@iteration) key=z rate=0.2 f32[6,5,5,4]
metric %z
)");
}

// Evaluation has states of its own, which are among those of training.
TEST(PrepareTraining, AnLstmThatCarriesGoesOnWhereItWas) {
  const absl::StatusOr<Graph> training = PrepareTraining(Parse(CarriedText()), Ops());
  ASSERT_TRUE(training.ok()) << training.status();
  EXPECT_EQ(ToText(*training), R"(state %@iteration
state %y@h@evaluation
state %y@h = %y@h@next
state %y@c@evaluation
state %y@c = %y@c@next
%@iteration = state() initializer=constant scale=0.0 i32[]
%g = input() f32[4,3,8]
%w = parameter() initializer=constant f32[2,8]
%y@h@evaluation = state() initializer=constant like=y@h scale=0.0 f32[4,2]
%y@h = state() initializer=constant scale=0.0 f32[4,2]
%y@c@evaluation = state() initializer=constant like=y@c scale=0.0 f32[4,2]
%y@c = state() initializer=constant scale=0.0 f32[4,2]
%y, %y@gates, %y@cells, %y@last, %y@last_cells = lstm_steps(%g, %w, _, %y@h, %y@c, _) f32[4,3,2], f32[4,3,8], f32[4,3,2], f32[4,2], f32[4,2]
%y@h@next = carry(%y@h, %y@last, _, _, _) f32[4,2]
%y@c@next = carry(%y@c, %y@last_cells, _, _, _) f32[4,2]
metric %y
)");
  const absl::StatusOr<Graph> evaluation = PrepareEvaluation(Parse(CarriedText()), Ops());
  ASSERT_TRUE(evaluation.ok()) << evaluation.status();
  const std::string text = ToText(*evaluation);
  EXPECT_NE(text.find("state %y@h@evaluation = %y@h@evaluation@next\n"), std::string::npos) << text;
  EXPECT_NE(text.find("= lstm_steps(%g, %w, _, %y@h@evaluation, %y@c@evaluation, _)"), std::string::npos) << text;
}

// It reads a state beside its samples, and its rows are samples all the same.
TEST(PrepareEvaluation, AMeanBehindAnLstmThatCarriesIsOfWeighedSamples) {
  const absl::StatusOr<Graph> prepared =
      PrepareEvaluation(Parse(CarriedText("%m = mean(%y) f32[]\nmetric %m\n")), Ops());
  ASSERT_TRUE(prepared.ok()) << prepared.status();
  const std::string text = ToText(*prepared);
  EXPECT_NE(text.find("%@sample_weight = input() f32[4]\n"), std::string::npos) << text;
}

TEST(PrepareTraining, GroupsOfStatisticsMustDivideTheBatch) {
  const absl::StatusOr<Graph> parsed = ParseText(
      BatchNormText("%y = batch_norm(%x, %gamma, %beta, %mean, %variance) statistics_samples=4\nmetric %y\n"), Ops());
  const absl::Status status = parsed.ok() ? PrepareTraining(*parsed, Ops()).status() : parsed.status();
  EXPECT_FALSE(status.ok());
  EXPECT_NE(std::string(status.message()).find("4"), std::string::npos) << status;
}

TEST(PrepareEvaluation, RunningStatisticsNoDropoutAndWeights) {
  const Graph graph = Parse(R"(state %mean
state %variance
%x = input() f32[6,4]
%t = input() i32[6]
%gamma = parameter() initializer=constant f32[4]
%beta = parameter() initializer=constant f32[4]
%mean = state() initializer=constant f32[4]
%variance = state() initializer=constant f32[4]
%y = batch_norm(%x, %gamma, %beta, %mean, %variance) f32[6,4]
%z = dropout(%y, _) rate=0.2 f32[6,4]
%l = softmax_cross_entropy(%z, %t, _) f32[]
loss %l
)");
  const absl::StatusOr<Graph> prepared = PrepareEvaluation(graph, Ops());
  ASSERT_TRUE(prepared.ok()) << prepared.status();
  const std::string text = ToText(*prepared);
  EXPECT_NE(text.find("%y = batch_norm_inference(%x, %gamma, %beta, %mean, %variance) f32[6,4]\n"
                      "%@sample_weight = input() f32[6]\n"
                      "%l = softmax_cross_entropy(%y, %t, %@sample_weight) f32[]\nloss %l\n"),
            std::string::npos)
      << text;
}

// The user's weights count in evaluation too, each loss's and metric's own.
TEST(PrepareEvaluation, OwnWeightsAreMultiplied) {
  const Graph graph = Parse(R"(%x = input() f32[6,4]
%t = input() i32[6]
%w = constant() value=0.5 f32[6]
%l = softmax_cross_entropy(%x, %t, %w) f32[]
%a = accuracy(%x, %t, _) f32[]
loss %l
metric %a
)");
  const absl::StatusOr<Graph> prepared = PrepareEvaluation(graph, Ops());
  ASSERT_TRUE(prepared.ok()) << prepared.status();
  EXPECT_EQ(ToText(*prepared), R"(%x = input() f32[6,4]
%t = input() i32[6]
%w = constant() value=0.5 f32[6]
%@sample_weight = input() f32[6]
%l@sample_weight = mul(%w, %@sample_weight) f32[6]
%l = softmax_cross_entropy(%x, %t, %l@sample_weight) f32[]
%a = accuracy(%x, %t, %@sample_weight) f32[]
loss %l
metric %a
)");
}

// Rows of a sample follow each other: each weighs what its sample does.
TEST(PrepareEvaluation, RowsOfASampleWeighWhatItDoes) {
  const Graph graph = Parse(R"(%x = input() f32[6,3,4]
%t = input() i32[6,3]
%rows = reshape(%x) f32[18,4]
%labels = reshape(%t) i32[18]
%l = softmax_cross_entropy(%rows, %labels, _) f32[]
loss %l
)");
  const absl::StatusOr<Graph> prepared = PrepareEvaluation(graph, Ops());
  ASSERT_TRUE(prepared.ok()) << prepared.status();
  EXPECT_EQ(ToText(*prepared), R"(%x = input() f32[6,3,4]
%t = input() i32[6,3]
%rows = reshape(%x) f32[18,4]
%labels = reshape(%t) i32[18]
%@sample_weight = input() f32[6]
%@sample_weight@rows3@apart = expand(%@sample_weight) axes=[1] sizes=[3] f32[6,3]
%@sample_weight@rows3 = reshape(%@sample_weight@rows3@apart) f32[18]
%l = softmax_cross_entropy(%rows, %labels, %@sample_weight@rows3) f32[]
loss %l
)");
}

// Samples behind another dimension, and that joined with theirs: the samples follow each other three times.
TEST(PrepareEvaluation, SamplesAreFollowedThroughPermutationsAndReshapes) {
  const Graph graph = Parse(R"(%x = input() f32[6,3,4]
%t = input() i32[6,3]
%turned = transpose(%x) permutation=[1,0,2] f32[3,6,4]
%turned_labels = transpose(%t) permutation=[1,0] i32[3,6]
%rows = reshape(%turned) f32[18,4]
%labels = reshape(%turned_labels) i32[18]
%l = softmax_cross_entropy(%rows, %labels, _) f32[]
%back = reshape(%rows) f32[3,6,4]
%m = mean(%back) f32[]
%of_each = sum(%back) axes=[0,2] f32[6]
loss %l
metric %m
)");
  const absl::StatusOr<Graph> prepared = PrepareEvaluation(graph, Ops());
  ASSERT_TRUE(prepared.ok()) << prepared.status();
  EXPECT_EQ(ToText(*prepared), R"(%x = input() f32[6,3,4]
%t = input() i32[6,3]
%turned = transpose(%x) permutation=[1,0,2] f32[3,6,4]
%turned_labels = transpose(%t) permutation=[1,0] i32[3,6]
%rows = reshape(%turned) f32[18,4]
%labels = reshape(%turned_labels) i32[18]
%@sample_weight = input() f32[6]
%@sample_weight@rows1x3@apart = expand(%@sample_weight) axes=[0] sizes=[3] f32[3,6]
%@sample_weight@rows1x3 = reshape(%@sample_weight@rows1x3@apart) f32[18]
%l = softmax_cross_entropy(%rows, %labels, %@sample_weight@rows1x3) f32[]
%back = reshape(%rows) f32[3,6,4]
%m@of_elements = expand(%@sample_weight) axes=[0,2] sizes=[3,4] f32[3,6,4]
%m@weighed = mul(%back, %m@of_elements) f32[3,6,4]
%m = mean(%m@weighed) f32[]
%of_each = sum(%back) axes=[0,2] f32[6]
loss %l
metric %m
)");
}

// Heads of an attention are rows of a sample: of samples in the second dimension, and of their products.
TEST(PrepareEvaluation, HeadsOfSamplesAreRowsOfThem) {
  const Graph graph = Parse(R"(%x = input() f32[6,3,4]
%turned = transpose(%x) permutation=[1,0,2] f32[3,6,4]
%heads = reshape(%turned) f32[3,12,2]
%q = transpose(%heads) permutation=[1,0,2] f32[12,3,2]
%s = batch_matmul(%q, %q) transpose_y=true f32[12,3,3]
%p = softmax(%s) f32[12,3,3]
%l = mean(%p) f32[]
loss %l
)");
  const absl::StatusOr<Graph> prepared = PrepareEvaluation(graph, Ops());
  ASSERT_TRUE(prepared.ok()) << prepared.status();
  const std::string text = ToText(*prepared);
  EXPECT_NE(text.find("%@sample_weight@rows2@apart = expand(%@sample_weight) axes=[1] sizes=[2] f32[6,2]"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("%l@weighed = mul(%p, %l@of_elements)"), std::string::npos) << text;
}

// Rows of different samples beside each other: the sum mixes them, and nothing is weighed.
TEST(PrepareEvaluation, RowsOfOtherSamplesAreMixed) {
  const Graph graph = Parse(R"(%x = input() f32[6,3,4]
%turned = transpose(%x) permutation=[1,0,2] f32[3,6,4]
%first = reshape(%x) f32[18,4]
%second = reshape(%turned) f32[18,4]
%both = add(%first, %second) f32[18,4]
%split = reshape(%x) f32[2,3,12]
%l = mean(%both) f32[]
%m = mean(%split) f32[]
loss %l
metric %m
)");
  const absl::StatusOr<Graph> prepared = PrepareEvaluation(graph, Ops());
  ASSERT_TRUE(prepared.ok()) << prepared.status();
  EXPECT_EQ(ToText(*prepared), ToText(graph));
}

// Weights of places count for what their samples do, and so does their sum, by which they are divided.
TEST(PrepareEvaluation, WeightsOfPlacesAreMultipliedByThoseOfTheirSamples) {
  const Graph graph = Parse(R"(%x = input() f32[6,3,4]
%t = input() i32[6,3]
%w = input() f32[6,3]
%n = sum(%w) f32[]
%s = over(%w, %n) f32[6,3]
%l = softmax_cross_entropy(%x, %t, %s) reduction=sum f32[]
loss %l
)");
  const absl::StatusOr<Graph> prepared = PrepareEvaluation(graph, Ops());
  ASSERT_TRUE(prepared.ok()) << prepared.status();
  EXPECT_EQ(ToText(*prepared), R"(%x = input() f32[6,3,4]
%t = input() i32[6,3]
%w = input() f32[6,3]
%@sample_weight = input() f32[6]
%n@of_elements = expand(%@sample_weight) axes=[1] sizes=[3] f32[6,3]
%n@weighed = mul(%w, %n@of_elements) f32[6,3]
%n = sum(%n@weighed) f32[]
%s = over(%w, %n) f32[6,3]
%l@sample_weight@of_places = expand(%@sample_weight) axes=[1] sizes=[3] f32[6,3]
%l@sample_weight = mul(%s, %l@sample_weight@of_places) f32[6,3]
%l = softmax_cross_entropy(%x, %t, %l@sample_weight) reduction=sum f32[]
loss %l
)");
}

}  // namespace
}  // namespace partita
