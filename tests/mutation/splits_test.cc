// Graphs and strategies of a few lines that the compiler once took for others: each computes what one rank does.
#include <gtest/gtest.h>

#include "graph/proto_io/proto_io.h"
#include "graph/read/graph_assembler.h"
#include "partitioner/data_model_strategy.h"
#include "tests/graph/parse.h"
#include "tests/mutation/judge.h"

namespace partita {
namespace {

Subject SubjectOf(const Graph& graph, Strategy strategy) {
  Subject subject;
  subject.nodes = Describe(graph);
  subject.loss = graph.value(graph.loss).name;
  subject.learning_rate.base = 0.01;
  subject.strategy = std::move(strategy);
  return subject;
}

Strategy StrategyOf(const std::string& text) {
  const absl::StatusOr<Strategy> strategy = ParseStrategy("schema_version: 1 " + text, ProtoFormat::kText, "strategy");
  EXPECT_TRUE(strategy.ok()) << strategy.status();
  return strategy.ok() ? *strategy : Strategy();
}

void ExpectRuns(const Subject& subject) {
  const Verdict verdict = Judge(subject);
  EXPECT_EQ(verdict.outcome, Outcome::kRan) << verdict.why;
}

void ExpectRuns(const std::string& graph, const std::string& strategy) {
  ExpectRuns(SubjectOf(Parse(graph), StrategyOf(strategy)));
}

// The last row of windows sees nothing but zeros: there are more of them than rows of the image.
TEST(Splits, WindowsOfOneElementWithZerosBehind) {
  const std::string graph = R"(%images = input() f64[2,4,1,1]
%labels = input() i32[2]
%w = parameter() initializer=uniform f64[1,1,1,1]
%c = conv2d(%images, %w) padding=[0,1,0,0] f64[2,5,1,1]
%f = reshape(%c) f64[2,5]
%v = parameter() initializer=uniform f64[5,10]
%z = matmul(%f, %v) f64[2,10]
%l = softmax_cross_entropy(%z, %labels, _) f64[]
state %w
state %v
loss %l
)";
  ExpectRuns(graph, R"(mesh { name: "rows" size: 2 } ops { pattern: "c" axes { axis: "rows" split: "height" } })");
  ExpectRuns(graph, R"(mesh { name: "rows" size: 3 }
                       ops { pattern: "c" axes { axis: "rows" split: "height" cuts: [0,1,4,5] } })");
}

constexpr char kSharedGradient[] = R"(%labels = input() i32[4]
%p = parameter() initializer=uniform f64[4,10]
%q = parameter() initializer=uniform scale=0.5 f64[4,10]
%x = add(%p, %q) f64[4,10]
%l = softmax_cross_entropy(%x, %labels, _) f64[]
state %p
state %q
loss %l
)";

TEST(Splits, TwoParametersWithOneGradientAreClippedTogether) {
  for (const char* strategy : {R"(mesh { name: "data" size: 1 })",
                               R"(mesh { name: "data" size: 2 }
                                  ops { pattern: "x" axes { axis: "data" split: "samples" } })",
                               R"(mesh { name: "data" size: 2 }
                                  ops { pattern: "p" update { axis: "data" split: "dimension1" } })"}) {
    Subject subject = SubjectOf(Parse(kSharedGradient), StrategyOf(strategy));
    subject.optimizer.clip_norm = 0.05;
    subject.optimizer.attributes = {{"momentum", 0.9}};
    ExpectRuns(subject);
  }
}

constexpr char kBatchNorm[] = R"(%images = input() f64[4,2,2,2]
%labels = input() i32[4]
%gamma = parameter() initializer=uniform f64[2]
%beta = parameter() initializer=uniform f64[2]
%m = state() initializer=constant scale=0.0 f64[2]
%v = state() initializer=constant f64[2]
%n = batch_norm(%images, %gamma, %beta, %m, %v) f64[4,2,2,2]
%f = reshape(%n) f64[4,8]
%w = parameter() initializer=uniform f64[8,10]
%z = matmul(%f, %w) f64[4,10]
%l = softmax_cross_entropy(%z, %labels, _) f64[]
state %gamma
state %beta
state %m
state %v
state %w
loss %l
)";

// What is said of a state over one axis holds; over the other it lies as its reader wants only if both fit.
TEST(Splits, AStateWhoseCutsDoNotFitItsReaders) {
  const std::string mesh = R"(mesh { name: "p" size: 2 } mesh { name: "q" size: 2 }
                              ops { pattern: "n" axes { axis: "p" split: "channels" } })";
  ExpectRuns(kBatchNorm, mesh + R"(ops { pattern: "v" axes { axis: "q" split: "dimension0" cuts: [0,0,2] } })");
  ExpectRuns(kBatchNorm, mesh + R"(ops { pattern: "gamma" axes { axis: "q" split: "dimension0" cuts: [0,2,2] } })");
}

// Two entries that cannot both hold are refused by name, and before anything is made of them.
TEST(Splits, AStateWithTwoEntriesThatDoNotFit) {
  const Subject subject = SubjectOf(Parse(kBatchNorm), StrategyOf(R"(
      mesh { name: "p" size: 2 } mesh { name: "q" size: 2 }
      ops { pattern: "v" axes { axis: "p" split: "dimension0" } }
      ops { pattern: "v" axes { axis: "q" split: "dimension0" cuts: [0,0,2] } })"));
  const Verdict verdict = Judge(subject);
  EXPECT_EQ(verdict.outcome, Outcome::kRefused);
  EXPECT_NE(verdict.why.find("node 'v': S0[0,0,2] over axis 'q'"), std::string::npos) << verdict.why;
}

// The images of a convolution are trained: their parameter lies in plain rows, without copies of its neighbours'.
TEST(Splits, ImagesThatAreAParameter) {
  const std::string graph = R"(%labels = input() i32[4]
%x = parameter() initializer=uniform f64[4,5,3,1]
%k = parameter() initializer=uniform f64[2,3,3,1]
%c = conv2d(%x, %k) padding=[1,1,1,1] f64[4,5,3,2]
%r = relu(%x) f64[4,5,3,1]
%g = reshape(%r) f64[4,15]
%f = reshape(%c) f64[4,30]
%u = parameter() initializer=uniform f64[30,10]
%v = parameter() initializer=uniform f64[15,10]
%y = matmul(%f, %u) f64[4,10]
%z = matmul(%g, %v) f64[4,10]
%s = add(%y, %z) f64[4,10]
%l = softmax_cross_entropy(%s, %labels, _) f64[]
state %x
state %k
state %u
state %v
loss %l
)";
  ExpectRuns(graph, R"(mesh { name: "rows" size: 2 } ops { pattern: "c" axes { axis: "rows" split: "height" } })");
  ExpectRuns(graph, R"(mesh { name: "rows" size: 2 }
                       ops { pattern: "c" axes { axis: "rows" split: "height" cuts: [0,1,5] } })");
}

constexpr char kOneProduct[] = R"(%x = input() f64[8,2,3]
%labels = input() i32[8]
%f = reshape(%x) f64[8,6]
%w = parameter() initializer=uniform f64[6,10]
%z = matmul(%f, %w) f64[8,10]
%l = softmax_cross_entropy(%z, %labels, _) f64[]
state %w
loss %l
)";

// Behind the product the outer axis splits the samples too: the cuts are no cuts of what is left then.
TEST(Splits, CutsThatAnOuterSplitMakesTooLong) {
  const std::string mesh = R"(mesh { name: "p" size: 2 } mesh { name: "q" size: 2 } )";
  ExpectRuns(kOneProduct, mesh + R"(ops { pattern: "z" axes { axis: "p" split: "output_channels" }
                                                       axes { axis: "q" split: "samples" cuts: [0,7,8] } })");
  ExpectRuns(kOneProduct, mesh + R"(ops { pattern: "z" axes { axis: "p" split: "samples" }
                                                       axes { axis: "q" split: "output_channels" cuts: [0,7,10] } }
                                    ops { pattern: "x" axes { axis: "q" split: "samples" cuts: [0,1,8] } })");
}

// Cuts inside the blocks of an outer axis are those of a block.
TEST(Splits, CutsInsideBlocks) {
  const std::string mesh = R"(mesh { name: "p" size: 2 } mesh { name: "q" size: 2 } )";
  ExpectRuns(kOneProduct, mesh + R"(ops { pattern: "z" axes { axis: "p" split: "samples" }
                                                       axes { axis: "q" split: "samples" cuts: [0,3,4] } })");
  const Subject whole = SubjectOf(Parse(kOneProduct), StrategyOf(mesh + R"(
      ops { pattern: "z" axes { axis: "p" split: "samples" } axes { axis: "q" split: "samples" cuts: [0,3,8] } })"));
  const Verdict verdict = Judge(whole);
  EXPECT_EQ(verdict.outcome, Outcome::kRefused);
  EXPECT_NE(verdict.why.find("node 'z': 'samples' over axis 'q': cuts [0,3,8] found; 3 points that rise from 0 to 4"),
            std::string::npos)
      << verdict.why;
}

// Images of 4 x 6 with 2 channels behind a convolution, reshaped to so many rows for each.
Graph RowsOfImages(int64_t batch, int64_t rows) {
  const std::string features = std::to_string(48 / rows);
  return Parse("%images = input() f64[" + std::to_string(batch) + ",4,6,1]\n%labels = input() i32[" +
               std::to_string(batch * rows) + R"(]
%k = parameter() initializer=uniform f64[2,3,3,1]
%c = conv2d(%images, %k) padding=[1,1,1,1]
%r = reshape(%c) shape=[-1,)" +
               features + "]\n%w = parameter() initializer=uniform f64[" + features + R"(,10]
%z = matmul(%r, %w)
%l = softmax_cross_entropy(%z, %labels, _)
state %k
state %w
loss %l
)");
}

// Samples that become rows of a matrix: where the replicas' blocks are uneven, no layout has whole samples in both.
TEST(Splits, FlagsAreLegalForEveryBatch) {
  const LayerSplit channels = LayerSplit::kChannels, rows = LayerSplit::kRows, samples = LayerSplit::kSamples;
  const std::vector<DataModelOptions> all = {{channels, channels}, {channels, samples}, {rows, channels},
                                             {rows, samples},      {samples, channels}, {samples, samples}};
  for (const int64_t batch : {1, 3, 8}) {
    for (const int64_t rows_of_one : {1, 4}) {
      const Graph graph = RowsOfImages(batch, rows_of_one);
      for (const auto& [data, model] : std::vector<std::pair<int, int>>{{1, 3}, {2, 2}, {3, 2}, {2, 3}}) {
        for (size_t i = 0; i < all.size(); ++i) {
          SCOPED_TRACE(testing::Message() << batch << " samples, " << rows_of_one << " rows of each, " << data << " x "
                                          << model << ", options " << i);
          const absl::StatusOr<Strategy> strategy = DataModelStrategy(graph, data, model, all[i]);
          ASSERT_TRUE(strategy.ok()) << strategy.status();
          ExpectRuns(SubjectOf(graph, *strategy));
        }
      }
    }
  }
}

}  // namespace
}  // namespace partita
