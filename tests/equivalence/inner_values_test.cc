// Values that are read while they wait in a bucket to be summed: metrics that the loss is made of, and summands that a
// launch reads beside the sum. Every split reports the losses and metrics of one rank, goes the way of one rank, and
// sums every value once.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "graph/ir/generated_name.h"
#include "graph/ir/op_definition.h"
#include "graph/make_program.h"
#include "graph/moves/move_bytes.h"
#include "ops/graph_builder.h"
#include "ops/registry.h"
#include "partitioner/data_model_strategy.h"
#include "runtime/api/session.h"
#include "runtime/base/status.h"
#include "tests/equivalence/side_by_side.h"
#include "tests/equivalence/small_batch.h"
#include "tests/testing/assert_ok.h"

namespace partita {
namespace {

constexpr int64_t kSamples = 8, kClasses = 5;
constexpr int kSteps = 3;

struct Case {
  std::string name;
  Shape images;
  // The loss of the logits' cross entropy, and the metrics beside accuracy.
  ValueId (*loss)(GraphBuilder& b, ValueId entropy, ValueId weights, std::vector<ValueId>& metrics);
};

ValueId Norm(GraphBuilder& b, ValueId weights) {
  return b.Add("norm", "scale", {b.Add("norm/sum", "sum", {b.Add("norm/square", "square", {weights})})},
               {{"factor", 0.1}});
}

const std::vector<Case> kCases = {
    {"exp",
     {kSamples, 3},
     [](GraphBuilder& b, ValueId entropy, ValueId, std::vector<ValueId>& metrics) {
       metrics.push_back(entropy);
       return b.Add("loss", "exp", {entropy});
     }},
    {"decay",
     {kSamples, 3},
     [](GraphBuilder& b, ValueId entropy, ValueId weights, std::vector<ValueId>& metrics) {
       metrics.push_back(entropy);
       return b.Add("loss", "add", {entropy, Norm(b, weights)});
     }},
    {"chain",
     {kSamples, 3},
     [](GraphBuilder& b, ValueId entropy, ValueId weights, std::vector<ValueId>& metrics) {
       const ValueId norm = Norm(b, weights);
       const ValueId square = b.Add("square", "square", {entropy});
       const ValueId sum = b.Add("total", "add", {square, entropy, norm});
       metrics = {square, sum, norm, entropy};
       return b.Add("loss", "scale", {b.Add("loss/tanh", "tanh", {sum})}, {{"factor", 2.0}});
     }},
};

absl::StatusOr<Model> MakeModel(const Case& from) {
  GraphBuilder b(Ops());
  const ValueId images = b.Input("images", DType::kF32, from.images),
                labels = b.Input("labels", DType::kI32, {kSamples});
  const ValueId weights = b.Parameter("weights", {from.images.back(), kClasses}, "he_normal");
  const ValueId logits = b.Add("logits", "matmul", {images, weights});
  const ValueId entropy = b.SoftmaxCrossEntropy("entropy", logits, labels);
  std::vector<ValueId> metrics;
  const ValueId loss = from.loss(b, entropy, weights, metrics);
  metrics.push_back(b.Accuracy("accuracy", logits, labels));
  Model model;
  ASSIGN_OR_RETURN(model.graph, b.Build(loss, metrics));
  model.optimizer = {"sgd", {}};
  model.optimizer.clip_norm = 0.7;
  model.learning_rate.base = 0.1;
  return model;
}

absl::StatusOr<Program> ProgramOf(const Model& model, const Strategy& strategy, int64_t bucket_bytes) {
  return MakeProgram(model, strategy, Ops(),
                     {.floating = DType::kF64, .bucket_bytes = bucket_bytes, .verify_passes = true});
}

absl::StatusOr<std::unique_ptr<Session>> Start(Program program) {
  SessionOptions options;
  options.seed = 1;
  options.threads_per_rank = 1;
  options.tests.reference_kernels = true;
  return Session::Start(std::move(program), options);
}

HostTensor Ones(int64_t samples) {
  const std::vector<double> ones(static_cast<size_t>(samples), 1);
  HostTensor tensor{DType::kF64, {samples}, std::vector<char>(ones.size() * sizeof(double))};
  std::memcpy(tensor.bytes.data(), ones.data(), tensor.bytes.size());
  return tensor;
}

// Losses and metrics of some steps of training and of an evaluation after them.
absl::StatusOr<std::vector<StepResult>> RunSteps(Session& session, const Shape& images) {
  std::vector<StepResult> results;
  for (int step = 0; step <= kSteps; ++step) {
    const char* const entry = step < kSteps ? kTrainEntry : kEvaluateEntry;
    RETURN_IF_ERROR(session.StageInput(entry, "images", SmallImages(images, step)));
    RETURN_IF_ERROR(session.StageInput(entry, "labels", SmallLabels(images[0], kClasses, step)));
    if (step == kSteps) RETURN_IF_ERROR(session.StageInput(entry, kSampleWeightName, Ones(images[0])));
    ASSIGN_OR_RETURN(results.emplace_back(), step < kSteps ? session.Train() : session.Evaluate());
  }
  return results;
}

void ExpectNear(const std::vector<StepResult>& serial, const std::vector<StepResult>& split) {
  ASSERT_EQ(serial.size(), split.size());
  for (size_t step = 0; step < serial.size(); ++step) {
    SCOPED_TRACE(step);
    EXPECT_NEAR(split[step].loss, serial[step].loss, 1e-10 * std::abs(serial[step].loss));
    ASSERT_EQ(split[step].metrics.size(), serial[step].metrics.size());
    for (size_t m = 0; m < serial[step].metrics.size(); ++m) {
      const auto& [name, value] = serial[step].metrics[m];
      EXPECT_EQ(split[step].metrics[m].first, name);
      EXPECT_NEAR(split[step].metrics[m].second, value, 1e-10 * std::abs(value)) << name;
    }
  }
}

TEST(InnerValues, AreReportedAsOneRankReportsThem) {
  for (const Case& each : kCases) {
    ASSERT_OK_AND_ASSIGN(const Model model, MakeModel(each));
    ASSERT_OK_AND_ASSIGN(Program serial_program, ProgramOf(model, Strategy{}, 0));
    ASSERT_OK_AND_ASSIGN(const auto serial, Start(std::move(serial_program)));
    ASSERT_OK_AND_ASSIGN(const std::vector<StepResult> expected, RunSteps(*serial, each.images));
    for (const int ranks : {2, 4}) {
      for (const int64_t bucket_bytes : {int64_t{0}, int64_t{1}, int64_t{1} << 20}) {
        SCOPED_TRACE(each.name + " on " + std::to_string(ranks) + ", buckets of " + std::to_string(bucket_bytes));
        ASSERT_OK_AND_ASSIGN(const Strategy strategy, DataModelStrategy(model.graph, ranks, 1));
        ASSERT_OK_AND_ASSIGN(Program program, ProgramOf(model, strategy, bucket_bytes));
        ASSERT_OK_AND_ASSIGN(const auto session, Start(std::move(program)));
        ASSERT_OK_AND_ASSIGN(const std::vector<StepResult> results, RunSteps(*session, each.images));
        ExpectNear(expected, results);
      }
    }
  }
}

// Each value is an input of one move to each layout.
void ExpectMovedOnce(const Graph& graph) {
  std::set<std::pair<ValueId, std::string>> moved;
  for (const Node& node : graph.nodes()) {
    if (!node.op->move) continue;
    for (size_t m = 0; m < node.inputs.size(); ++m) {
      const std::string to = ToString(graph.layout(node.outputs[m]), graph.mesh(node.outputs[m]));
      EXPECT_TRUE(moved.emplace(node.inputs[m], to).second) << graph.value(node.inputs[m]).name << " to " << to;
    }
  }
}

TEST(InnerValues, AreSummedOnce) {
  for (const Case& each : kCases) {
    SCOPED_TRACE(each.name);
    ASSERT_OK_AND_ASSIGN(const Model model, MakeModel(each));
    ASSERT_OK_AND_ASSIGN(const Strategy strategy, DataModelStrategy(model.graph, 4, 1));
    ASSERT_OK_AND_ASSIGN(const Program program, ProgramOf(model, strategy, -1));
    for (const EntryPoint& entry : program.entries) ExpectMovedOnce(entry.graph);
    ASSERT_EQ(program.groups.size(), 1u);
    if (each.name == "exp") {  // the gradient of the weights, the cross entropy, the accuracy; all ranks know the norm
      EXPECT_EQ(PredictBytes(program, program.graph(kTrainEntry))[0].payload, 8 * (3 * kClasses + 2));
    }
    ASSERT_OK_AND_ASSIGN(const auto session, Start(program));
    session->ResetCounters();
    for (int step = 0; step < kSteps; ++step) {
      ASSERT_OK(session->StageInput(kTrainEntry, "images", SmallImages(each.images, step)));
      ASSERT_OK(session->StageInput(kTrainEntry, "labels", SmallLabels(kSamples, kClasses, step)));
      ASSERT_OK(session->Train().status());
    }
    EXPECT_OK(CompareBytes(*session, kSteps));
  }
}

// Of a convolution of channels that are split, one summand is read at one rank and beside it by an addition that could
// take its place before it is summed.
TEST(InnerValues, ThatAreSummandsTrainAsOnOneRank) {
  const Shape images = {4, 1, 6, 4};
  GraphBuilder b(Ops());
  const ValueId x = b.Input("images", DType::kF32, images), labels = b.Input("labels", DType::kI32, {4});
  const ValueId w = b.Parameter("w", {5, 1, 3, 4}, "glorot_uniform"),
                v = b.Parameter("v", {5, 1, 1, 5}, "glorot_uniform");
  const ValueId y = b.Add("y", "conv2d", {x, w}, {{"padding", IntList{1, 1, 3, 1}}, {"dilation", IntList{2, 1}}});
  const ValueId z = b.Add("z", "conv2d", {y, v}, {{"dilation", IntList{1, 2}}});
  const ValueId apart = b.Add("apart", "add", {z, y});
  const ValueId flat = b.Flatten("flat", b.Add("sum", "add", {y, z, apart}));
  Model model;
  ASSERT_OK_AND_ASSIGN(model.graph, b.Build(b.SoftmaxCrossEntropy("loss", flat, labels)));
  model.optimizer = {"sgd", {}};
  model.optimizer.attributes.Set("momentum", 0.5);
  model.learning_rate.base = 0.1;
  Strategy strategy;
  strategy.mesh.axes = {{"model", 2}};
  strategy.ops = {{"images", {{"model", {"channels", 0, {}}}}, {}}, {"apart", {{"model", {"at", 1, {}}}}, {}}};
  std::vector<std::vector<StepResult>> results;
  for (const bool split : {false, true}) {
    ASSERT_OK_AND_ASSIGN(Program program, ProgramOf(model, split ? strategy : Strategy{}, -1));
    ASSERT_OK_AND_ASSIGN(const auto session, Start(std::move(program)));
    ASSERT_OK_AND_ASSIGN(results.emplace_back(), RunSteps(*session, images));
  }
  ExpectNear(results[0], results[1]);
}

}  // namespace
}  // namespace partita
