// BigLSTM has the sizes that its paper says, and others that are asked for.
#include "tools/models/big_lstm.h"

#include <gtest/gtest.h>

#include "graph/ir/node_flops.h"
#include "graph/make_program.h"
#include "ops/registry.h"
#include "tests/testing/assert_ok.h"
#include "tools/models/models.h"

namespace partita {
namespace {

// Nothing is allocated: a graph is what is said of tensors.
TEST(BigLstm, HasThePapersSizes) {
  ASSERT_OK_AND_ASSIGN(const Model model, MakeBigLstm({}, Ops()));
  EXPECT_EQ(ParameterCount(model.graph), 1'776'880'510);
  const auto shape = [&](const char* name) { return model.graph.type(model.graph.Find(name)).shape; };
  EXPECT_EQ(shape("embedding/table"), (Shape{793'470, 1024}));
  EXPECT_EQ(shape("lstm2/recurrent"), (Shape{1024, 4 * 8192}));
  EXPECT_EQ(shape("lstm2"), (Shape{128, 20, 1024}));
}

// Multiply-adds of the LSTMs for a word: 150.99 million, and what is reckoned for their gates.
TEST(BigLstm, ComputesWhatThePaperComputes) {
  ASSERT_OK_AND_ASSIGN(const Model model, MakeBigLstm({.batch = 1, .places = 1}, Ops()));
  double flops = 0;
  for (const Node& node : model.graph.nodes()) {
    if (node.op->name == "matmul" || node.op->name == "lstm") flops += FlopsOf(model.graph, node);
  }
  EXPECT_NEAR(flops / 2, 150.99e6 + 2 * 8192 * 30, 0.01e6);
}

// What is trained of a word is three times what is computed of it: the LSTMs' multiply-adds, and of the softmax those
// of 8192 words of the 793,470, 956 MFLOP in all. What is not a product, updates too, is less than a hundredth.
TEST(BigLstm, TrainsInAsManyFlopsAsThePapersDoes) {
  ASSERT_OK_AND_ASSIGN(const Model model, MakeBigLstm({}, Ops()));
  ASSERT_OK_AND_ASSIGN(const Program program, MakeProgram(model, {}, Ops()));
  const Graph& graph = program.graph(kTrainEntry);
  double flops = 0;
  for (const Node& node : graph.nodes()) flops += FlopsOf(graph, node);
  const double word = 3 * 2 * (150.99e6 + 8192 * 1024);
  EXPECT_NEAR(word, 956e6, 1e6);
  EXPECT_GT(flops, 128 * 20 * word);
  EXPECT_LT(flops, 128 * 20 * word * 1.01);
}

TEST(BigLstm, HasOtherSizes) {
  const BigLstmOptions options{
      .batch = 2, .places = 3, .words = 7, .embedding = 4, .units = 6, .projection = 6, .layers = 3, .dropout_rate = 0};
  ASSERT_OK_AND_ASSIGN(const Model model, MakeBigLstm(options, Ops()));
  const int64_t first = (4 + 6) * 24 + 24, further = (6 + 6) * 24 + 24;  // without projections
  EXPECT_EQ(ParameterCount(model.graph), 7 * 4 + first + 2 * further + 7 * 6 + 7);
  EXPECT_EQ(model.graph.Find("lstm3/projection"), kNoValue);
  EXPECT_EQ(model.graph.Find("lstm3/dropout"), kNoValue);
}

TEST(BigLstm, RefusesWhatItCannotHave) {
  EXPECT_EQ(std::string(MakeBigLstm({.layers = 0}, Ops()).status().message()), "layers is 0; at least 1 is needed");
  EXPECT_EQ(std::string(MakeBigLstm({.words = 100, .samples = 51}, Ops()).status().message()),
            "node 'loss' (sampled_softmax_cross_entropy): attribute samples is 51; it must be at least 1 and at most "
            "half of the 100 classes");
}

// What the authors' program multiplies the gradients by: the places, and that of the embedding by the sequences too.
TEST(BigLstm, IsTrainedAsByItsAuthors) {
  ASSERT_OK_AND_ASSIGN(const Model model, MakeBigLstm({}, Ops()));
  EXPECT_EQ(model.optimizer.attributes.Float("initial_accumulator"), 1 / (20.0 * 20));
  ASSERT_EQ(model.optimizer.groups.size(), 2U);
  EXPECT_EQ(model.optimizer.groups[0].attributes.Float("initial_accumulator"), 1 / (20.0 * 128 * 20 * 128));
  EXPECT_EQ(model.optimizer.groups[1].clip_norm, 1 / 20.0);
  EXPECT_EQ(model.optimizer.average->pattern, "lstm*");
  EXPECT_EQ(model.learning_rate.base, 0.2);
}

}  // namespace
}  // namespace partita
