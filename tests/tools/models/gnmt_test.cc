// GNMT has the sizes that are known of it, and others that are asked for.
#include "tools/models/gnmt.h"

#include <gtest/gtest.h>

#include <cmath>

#include "graph/ir/node_flops.h"
#include "graph/make_program.h"
#include "ops/registry.h"
#include "tests/testing/assert_ok.h"
#include "tools/models/models.h"

namespace partita {
namespace {

int64_t Parameters(const GnmtOptions& options) {
  const absl::StatusOr<Model> model = MakeGnmt(options, Ops());
  return model.ok() ? ParameterCount(model->graph) : 0;
}

// Nothing is allocated: a graph is what is said of tensors.
TEST(Gnmt, HasAsManyParametersAsPyTorchs) {
  EXPECT_EQ(Parameters({}), 159'605'817);
  EXPECT_EQ(Parameters({.words = 32'320}), 160'671'297);
  EXPECT_EQ(Parameters({.words = 32'320, .layers = 8}), 244'622'913);
}

TEST(Gnmt, HasOtherSizes) {
  const GnmtOptions options{
      .batch = 2, .source_places = 3, .target_places = 4, .words = 7, .units = 5, .layers = 2, .dropout_rate = 0};
  ASSERT_OK_AND_ASSIGN(const Model model, MakeGnmt(options, Ops()));
  const auto lstm = [](int64_t inputs) { return (inputs + 5) * 20 + 40; };
  const int64_t attention = 2 * 25 + 5 + 1 + 5, classifier = 7 * 5 + 7;
  EXPECT_EQ(ParameterCount(model.graph), 7 * 5 + 3 * lstm(5) + 2 * lstm(10) + attention + classifier);
  const auto shape = [&](const char* name) { return model.graph.type(model.graph.Find(name)).shape; };
  EXPECT_EQ(shape("encoder2"), (Shape{2, 3, 5}));
  EXPECT_EQ(shape("attention"), (Shape{2, 4, 5}));
  EXPECT_EQ(shape("classifier/bias"), (Shape{2, 4, 7}));
  EXPECT_EQ(model.graph.Find("decoder2/dropout"), kNoValue);
  EXPECT_EQ(model.graph.Find("decoder2/residual"), kNoValue);
}

// Multiply-adds of products and LSTMs, without what is reckoned for the gates of `lstms` of them.
double Products(const Model& model, const std::vector<std::string>& parts, int lstms) {
  double flops = 0;
  for (const Node& node : model.graph.nodes()) {
    const bool is_part = std::any_of(parts.begin(), parts.end(), [&](const std::string& part) {
      return model.graph.values()[node.outputs[0]].name.rfind(part, 0) == 0;
    });
    if (is_part && (node.op->name == "matmul" || node.op->name == "lstm")) flops += FlopsOf(model.graph, node);
  }
  return flops / 2 - lstms * 1024 * 30;
}

// Of each word of the source 47.19 million, of each of the target 79.75, and what a score is made of.
TEST(Gnmt, ComputesWhatIsKnownOfIt) {
  ASSERT_OK_AND_ASSIGN(const Model model, MakeGnmt({.batch = 1, .source_places = 1, .target_places = 1}, Ops()));
  EXPECT_NEAR(Products(model, {"encoder", "attention/keys"}, 5), 47.19e6, 0.01e6);
  EXPECT_NEAR(Products(model, {"decoder", "attention/query", "classifier"}, 4), 79.75e6, 0.01e6);
}

// Three times that, for both words; what is not a product, scores and updates too, is less than a hundredth.
TEST(Gnmt, TrainsInAsManyFlops) {
  ASSERT_OK_AND_ASSIGN(const Model model, MakeGnmt({.batch = 512, .source_places = 27, .target_places = 28}, Ops()));
  ASSERT_OK_AND_ASSIGN(const Program program, MakeProgram(model, {}, Ops()));
  const Graph& graph = program.graph(kTrainEntry);
  double flops = 0;
  for (const Node& node : graph.nodes()) flops += FlopsOf(graph, node);
  const double pair = 3 * 2 * (27 * 47.19e6 + 28 * 79.75e6);
  EXPECT_GT(flops, 512 * pair);
  EXPECT_LT(flops, 512 * pair * 1.01);
}

TEST(Gnmt, RefusesWhatItCannotHave) {
  EXPECT_EQ(std::string(MakeGnmt({.layers = 1}, Ops()).status().message()),
            "layers is 1; at least 2 are needed: one of two directions, and one above it");
}

// After 200 steps the rate is whole, and in the last third of the training it is halved four times.
TEST(Gnmt, IsTrainedAsItsAuthorsTrainIt) {
  ASSERT_OK_AND_ASSIGN(const Model model, MakeGnmt({.steps = 1200}, Ops()));
  EXPECT_EQ(model.optimizer.name, "adam");
  EXPECT_EQ(model.optimizer.clip_norm, 5);
  EXPECT_EQ(model.learning_rate.base, 2e-3);
  EXPECT_EQ(model.learning_rate.warmup, "exponential");
  EXPECT_EQ(model.learning_rate.warmup_steps, 200);
  EXPECT_EQ(model.learning_rate.decay_start, 800);
  EXPECT_EQ(model.learning_rate.decay_steps, 100);
  EXPECT_EQ(model.learning_rate.decay_times, 4);
}

}  // namespace
}  // namespace partita
