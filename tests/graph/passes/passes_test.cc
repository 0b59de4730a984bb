// Each pass is its picture, text to text.
#include <gtest/gtest.h>

#include "graph/ir/generated_name.h"
#include "graph/ir/gradient_moves.h"
#include "graph/passes/bucket_all_reduces.h"
#include "graph/passes/convert_dtype.h"
#include "graph/passes/decompose.h"
#include "graph/passes/drop_unused.h"
#include "graph/passes/prepare_evaluation.h"
#include "graph/passes/prepare_training.h"
#include "graph/passes/unroll_micro_batches.h"
#include "graph/text/text.h"
#include "ops/registry.h"
#include "tests/graph/batch_norm_text.h"
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
%mean@rows = expand(%@sample_weight) axes=[1] sizes=[5] f32[6,5]
%mean@of_rows = reshape(%mean@rows) f32[30]
%mean@of_elements = expand(%mean@of_rows) axes=[1] sizes=[3] f32[30,3]
%mean@weighed = mul(%rows, %mean@of_elements) f32[30,3]
%mean = mean(%mean@weighed) f32[]
%of_each = mean(%x) axes=[1,2] f32[6]
%norm = mean(%w) f32[]
metric %mean
metric %norm
)");
}

TEST(PrepareTraining, BatchNormIsStatisticsAndNormalize) {
  const Graph graph = Parse(std::string(kBatchNorm) +
                            "%y = batch_norm(%x, %gamma, %beta, %mean, %variance) statistics_samples=3 f32[6,5,5,4]\n"
                            "%z = dropout(%y, _) rate=0.2 f32[6,5,5,4]\nmetric %z\n");
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

constexpr char kCarried[] = R"(%g = input() f32[4,3,8]
%w = parameter() initializer=constant f32[2,8]
%y = lstm(%g, %w, _, _, _, _) carry=true f32[4,3,2]
metric %y
)";

// Evaluation has states of its own, which are among those of training.
TEST(PrepareTraining, AnLstmThatCarriesGoesOnWhereItWas) {
  const absl::StatusOr<Graph> training = PrepareTraining(Parse(kCarried), Ops());
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
  const absl::StatusOr<Graph> evaluation = PrepareEvaluation(Parse(kCarried), Ops());
  ASSERT_TRUE(evaluation.ok()) << evaluation.status();
  const std::string text = ToText(*evaluation);
  EXPECT_NE(text.find("state %y@h@evaluation = %y@h@evaluation@next\n"), std::string::npos) << text;
  EXPECT_NE(text.find("= lstm_steps(%g, %w, _, %y@h@evaluation, %y@c@evaluation, _)"), std::string::npos) << text;
}

// It reads a state beside its samples, and its rows are samples all the same.
TEST(PrepareEvaluation, AMeanBehindAnLstmThatCarriesIsOfWeighedSamples) {
  const absl::StatusOr<Graph> prepared =
      PrepareEvaluation(Parse(std::string(kCarried) + "%m = mean(%y) f32[]\nmetric %m\n"), Ops());
  ASSERT_TRUE(prepared.ok()) << prepared.status();
  const std::string text = ToText(*prepared);
  EXPECT_NE(text.find("%@sample_weight = input() f32[4]\n"), std::string::npos) << text;
}

TEST(PrepareTraining, GroupsOfStatisticsMustDivideTheBatch) {
  const Graph graph =
      Parse(std::string(kBatchNorm) + "%y = batch_norm(%x, %gamma, %beta, %mean, %variance) f32[6,5,5,4]\nmetric %y\n");
  Graph wrong = graph;
  const absl::StatusOr<Graph> parsed =
      ParseText(std::string(kBatchNorm) +
                    "%y = batch_norm(%x, %gamma, %beta, %mean, %variance) statistics_samples=4\nmetric %y\n",
                Ops());
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

constexpr char kThreeReduces[] = R"(mesh data:2
%a = input() f32[4] {data:P}
%b = input() f32[6] {data:P}
%c = input() f32[2] {data:P}
%ar = all_reduce(%a) axes=data f32[4] {data:R}
%br = all_reduce(%b) axes=data f32[6] {data:R}
%r = relu(%br) f32[6] {data:R}
%cr = all_reduce(%c) axes=data f32[2] {data:R}
metric %ar
metric %r
metric %cr
)";

TEST(BucketAllReduces, AReaderClosesTheBucket) {
  EXPECT_EQ(ToText(BucketAllReduces(Parse(kThreeReduces), 1 << 20)), R"(mesh data:2
%a = input() f32[4] {data:P}
%b = input() f32[6] {data:P}
%c = input() f32[2] {data:P}
%ar, %br = all_reduce(%a, %b) axes=data f32[4] {data:R}, f32[6] {data:R}
%r = relu(%br) f32[6] {data:R}
%cr = all_reduce(%c) axes=data f32[2] {data:R}
metric %ar
metric %r
metric %cr
)");
}

TEST(BucketAllReduces, AFullBucketClosesAndZeroMeansAlone) {
  EXPECT_EQ(ToText(BucketAllReduces(Parse(kThreeReduces), 16)), kThreeReduces);
  EXPECT_EQ(ToText(BucketAllReduces(Parse(kThreeReduces), 0)), kThreeReduces);
}

// %cr is a gradient: the update alone reads it, through a slice. %a and %b are sums that the pass waits for.
constexpr char kSumsAndGradients[] = R"(mesh data:2
%a = input() f32[4] {data:P}
%b = input() f32[6] {data:P}
%c = input() f32[2] {data:P}
%d = input() f32[8] {data:P}
phase backward
%ar = all_reduce(%a) axes=data f32[4] {data:R}
%cr = all_reduce(%c) axes=data f32[2] {data:R}
%br = all_reduce(%b) axes=data f32[6] {data:R}
%cs = slice_move(%cr) axes=data f32[2] {data:S0}
%dr = all_reduce(%d) axes=data f32[8] {data:R}
%r = relu(%ar) f32[4] {data:R}
%s = relu(%br) f32[6] {data:R}
phase update
%t = relu(%cs) f32[2] {data:S0}
%u = relu(%dr) f32[8] {data:R}
metric %r
metric %s
)";

TEST(BucketAllReduces, GradientsShareNoBucketWithWhatIsWaitedFor) {
  EXPECT_EQ(ToText(BucketAllReduces(Parse(kSumsAndGradients), 1 << 20)), R"(mesh data:2
%a = input() f32[4] {data:P}
%b = input() f32[6] {data:P}
%c = input() f32[2] {data:P}
%d = input() f32[8] {data:P}
phase backward
%cr = all_reduce(%c) axes=data f32[2] {data:R}
%cs = slice_move(%cr) axes=data f32[2] {data:S0}
%ar, %br = all_reduce(%a, %b) axes=data f32[4] {data:R}, f32[6] {data:R}
%r = relu(%ar) f32[4] {data:R}
%s = relu(%br) f32[6] {data:R}
phase update
%t = relu(%cs) f32[2] {data:S0}
phase backward
%dr = all_reduce(%d) axes=data f32[8] {data:R}
phase update
%u = relu(%dr) f32[8] {data:R}
metric %r
metric %s
)");
}

// The bucket of %c is full before the sum %ar, behind which there is more to compute.
TEST(BucketAllReduces, AFullBucketOfGradientsGoesWhereMoreComputingFollows) {
  const std::string head = R"(mesh data:2
%a = input() f32[4] {data:P}
%c = input() f32[2] {data:P}
%x = input() f32[4,8] {data:R}
%w = input() f32[8,8] {data:R}
phase backward
)";
  const std::string gradient = "%cr = all_reduce(%c) axes=data f32[2] {data:R}\n";
  const std::string little = "%y = relu(%x) f32[4,8] {data:R}\n";
  const std::string sum = "%ar = all_reduce(%a) axes=data f32[4] {data:R}\n";
  const std::string much = "%z = matmul(%x, %w) f32[4,8] {data:R}\n";
  const std::string tail = R"(%r = relu(%ar) f32[4] {data:R}
phase update
%u = relu(%cr) f32[2] {data:R}
metric %r
)";
  const auto bucketed = [](const std::string& text) { return ToText(BucketAllReduces(Parse(text), 8)); };
  EXPECT_EQ(bucketed(head + gradient + little + sum + much + tail), head + little + sum + gradient + much + tail);
  EXPECT_EQ(bucketed(head + gradient + much + sum + little + tail), head + gradient + much + sum + little + tail);
  EXPECT_EQ(bucketed(head + sum + gradient + much + tail), head + sum + gradient + much + tail) << "the last sum";
  // Two sums with little between, and much behind the second.
  const std::string other =
      "%b = relu(%w) f32[8,8] {data:R}\n%bp = zero_extend(%b) axes=data f32[8,8] {data:P}\n"
      "%br = all_reduce(%bp) axes=data f32[8,8] {data:R}\n";
  const std::string more = "%v = matmul(%w, %br) f32[8,8] {data:R}\n" + much;
  const std::string read = "%r0 = relu(%ar) f32[4] {data:R}\n";
  EXPECT_EQ(bucketed(head + gradient + little + sum + read + other + more + tail),
            head + little + sum + read + other + gradient + more + tail);
}

TEST(BucketAllReduces, GradientsAreReadByTheUpdateAlone) {
  const Graph graph = Parse(kSumsAndGradients);
  const std::vector<bool> gradients = GradientMoves(graph);
  for (NodeId id = 0; id < static_cast<NodeId>(graph.nodes().size()); ++id) {
    const std::string& name = graph.name(id);
    EXPECT_EQ(gradients[id], name == "cr" || name == "cs" || name == "dr") << name;
  }
}

TEST(BucketAllReduces, SizeFollowsFromLatencyAndFromWhatThereIs) {
  EXPECT_EQ(BucketBytes(Parse(kThreeReduces), 10e-6, 10e9), 1000000)
      << "without gradients: 10 us of latency are a tenth of 100 us at 10 GB/s";
  const Graph graph = Parse(kSumsAndGradients);  // 40 bytes of gradients
  EXPECT_EQ(BucketBytes(graph, 1e-9, 1e9), 5) << "an eighth of them";
  EXPECT_EQ(BucketBytes(graph, 7e-9, 1e9), 7) << "a transfer as long as the latency";
  EXPECT_EQ(BucketBytes(graph, 3.5e-10, 1e9), 3) << "latency a tenth of the transfer";
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

// Running statistics are updated once, from the groups of all micro-batches in their order.
TEST(UnrollMicroBatches, WhatNeedsTheWholeBatchGetsItsPartsSetTogether) {
  const absl::StatusOr<Graph> prepared = PrepareTraining(
      Parse(std::string(kBatchNorm) +
            "%y = batch_norm(%x, %gamma, %beta, %mean, %variance) statistics_samples=3 f32[6,5,5,4]\nmetric %y\n"),
      Ops());
  ASSERT_TRUE(prepared.ok()) << prepared.status();
  const absl::StatusOr<Graph> unrolled = UnrollMicroBatches(*prepared, 2, Ops());
  ASSERT_TRUE(unrolled.ok()) << unrolled.status();
  const std::string text = ToText(*unrolled);
  EXPECT_NE(text.find("%y@statistics@whole = concat(%y@statistics@micro0, %y@statistics@micro1)"), std::string::npos);
  EXPECT_NE(text.find("batch_norm_running(%y@statistics@whole, %mean, %variance, _)"), std::string::npos) << text;
}

// A micro-batch reads its rows of a state, which is written once, from those of all.
TEST(UnrollMicroBatches, StatesAreReadInPartsAndWrittenWhole) {
  const absl::StatusOr<Graph> prepared = PrepareTraining(Parse(kCarried), Ops());
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
            "node 'x': micro_batches is 4, which does not divide the 6 samples of the batch");
  const absl::StatusOr<Graph> prepared = PrepareTraining(
      Parse(std::string(kBatchNorm) +
            "%y = batch_norm(%x, %gamma, %beta, %mean, %variance) statistics_samples=3 f32[6,5,5,4]\nmetric %y\n"),
      Ops());
  ASSERT_TRUE(prepared.ok()) << prepared.status();
  EXPECT_EQ(UnrollMicroBatches(*prepared, 3, Ops()).status().message(),
            "node 'y@statistics': micro-batches of 2 samples cut the batch statistics, which are over 3 samples; a "
            "statistics_samples that divides 2 is needed");
}

}  // namespace
}  // namespace partita
