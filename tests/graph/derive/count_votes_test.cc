// Where the votes ride, picture by picture.
#include "graph/derive/count_votes.h"

#include <gtest/gtest.h>

#include "graph/ir/entry_point.h"
#include "graph/text/text.h"
#include "graph/verify/verify_graph.h"
#include "ops/registry.h"
#include "tests/graph/parse.h"
#include "tests/graph/two_layers.h"

namespace partita {
namespace {

// The graph that the pass makes of a text, which keeps its rules and is read back as it is written.
std::string Counted(const std::string& text) {
  const absl::StatusOr<Graph> graph = CountVotes(Parse(text), Ops());
  EXPECT_TRUE(graph.ok()) << graph.status();
  const absl::Status whole = VerifyGraph(*graph);
  EXPECT_TRUE(whole.ok()) << whole;
  EXPECT_EQ(ToText(Parse(ToText(*graph))), ToText(*graph));
  return ToText(*graph);
}

TEST(CountVotes, AReplicaSaysItInTheLoss) {
  EXPECT_EQ(Counted(R"(mesh data:2
%x = input() f32[6,4] {data:S0}
%t = input() i32[6] {data:S0}
%l = softmax_cross_entropy(%x, %t, _) f32[] {data:P}
%a = accuracy(%x, %t, _) f32[] {data:P}
%l.r, %a.r = all_reduce(%l, %a) axes=data f32[] {data:R}, f32[] {data:R}
loss %l.r
metric %a.r
)"),
            R"(mesh data:2
%@vote = input() f32[1] {data:P}
%x = input() f32[6,4] {data:S0}
%t = input() i32[6] {data:S0}
%l = softmax_cross_entropy(%x, %t, _) f32[] {data:P}
%a = accuracy(%x, %t, _) f32[] {data:P}
%l.r, %a.r, %@vote@all_reduce = all_reduce(%l, %a, %@vote) axes=data f32[] {data:R}, f32[] {data:R}, f32[1] {data:R}
loss %l.r
metric %a.r
votes %@vote = %@vote@all_reduce
)");
}

TEST(CountVotes, AxesThatNoScalarIsAddedUpOverComeFirst) {
  EXPECT_EQ(Counted(R"(mesh data:2 model:3
%x = input() f32[6,4] {data:S0 model:R}
%t = input() i32[6] {data:S0 model:R}
%l = softmax_cross_entropy(%x, %t, _) f32[] {data:P model:R}
%l.r = all_reduce(%l) axes=data f32[] {data:R model:R}
loss %l.r
)"),
            R"(mesh data:2 model:3
%@vote = input() f32[1] {data:P model:P}
%@vote@all_reduce = all_reduce(%@vote) axes=model f32[1] {data:P model:R}
%x = input() f32[6,4] {data:S0 model:R}
%t = input() i32[6] {data:S0 model:R}
%l = softmax_cross_entropy(%x, %t, _) f32[] {data:P model:R}
%l.r, %@vote@all_reduce@2 = all_reduce(%l, %@vote@all_reduce) axes=data f32[] {data:R model:R}, f32[1] {data:R model:R}
loss %l.r
votes %@vote = %@vote@all_reduce@2
)");
}

// An axis of one rank may be among those of a sum, and need not be.
TEST(CountVotes, AxesOfOneRankCostNothing) {
  const std::string joined = Counted(R"(mesh data:2 model:1
%x = input() f32[6,4] {data:S0 model:S1}
%n = sum_of_squares(%x) f32[] {data:P model:P}
%n.r = all_reduce(%n) axes=data,model f32[] {data:R model:R}
metric %n.r
)");
  EXPECT_NE(joined.find("%@vote = input() f32[1] {data:P model:P}\n"), std::string::npos) << joined;
  const std::string apart = Counted(R"(mesh data:2 model:1
%x = input() f32[6,4] {data:S0 model:R}
%n = sum_of_squares(%x) f32[] {data:P model:R}
%n.r = all_reduce(%n) axes=data f32[] {data:R model:R}
metric %n.r
)");
  EXPECT_NE(apart.find("%@vote = input() f32[1] {data:P model:R}\n"), std::string::npos) << apart;
  for (const std::string& text : {joined, apart}) EXPECT_EQ(text.find("= all_reduce(%@vote)"), std::string::npos);
}

// Several sums over axes that do not meet carry it one after the other, in the order of the graph.
TEST(CountVotes, GoesOnFromSumToSum) {
  EXPECT_EQ(Counted(R"(mesh data:2 model:3 rows:2
%a = input() f32[4,4,4] {data:S0 model:S1 rows:S2}
%n = sum_of_squares(%a) f32[] {data:P model:P rows:P}
%n.a = all_reduce(%n) axes=data f32[] {data:R model:P rows:P}
%n.b = all_reduce(%n.a) axes=model,rows f32[] {data:R model:R rows:R}
metric %n.b
)"),
            R"(mesh data:2 model:3 rows:2
%@vote = input() f32[1] {data:P model:P rows:P}
%a = input() f32[4,4,4] {data:S0 model:S1 rows:S2}
%n = sum_of_squares(%a) f32[] {data:P model:P rows:P}
%n.a, %@vote@all_reduce = all_reduce(%n, %@vote) axes=data f32[] {data:R model:P rows:P}, f32[1] {data:R model:P rows:P}
%n.b, %@vote@all_reduce@2 = all_reduce(%n.a, %@vote@all_reduce) axes=model,rows f32[] {data:R model:R rows:R}, f32[1] {data:R model:R rows:R}
metric %n.b
votes %@vote = %@vote@all_reduce@2
)");
}

// What is no sum of scalars on all ranks is left alone: tensors, maxima, other types, values that lie at one rank.
TEST(CountVotes, OthersCarryNothing) {
  for (const char* const other : {
           "%g = all_reduce(%x) axes=data f32[6,4] {data:R model:R}\nmetric %g\n",
           "%g = all_reduce(%m) axes=data f32[1] {data:R model:R}\nmetric %g\n",
           "%g = all_reduce(%d) axes=data f64[1] {data:R model:R}\nmetric %g\n",
           "%g = all_reduce(%p) axes=data f32[1] {data:R model:At1}\nmetric %g\n",
       }) {
    const Graph graph = Parse(std::string("mesh data:2 model:2\n"
                                          "%x = input() f32[6,4] {data:P model:R}\n"
                                          "%m = input() f32[1] {data:P(max) model:R}\n"
                                          "%d = input() f64[1] {data:P model:R}\n"
                                          "%p = input() f32[1] {data:P model:At1}\n") +
                              other);
    const absl::StatusOr<Graph> counted = CountVotes(graph, Ops());
    ASSERT_TRUE(counted.ok()) << counted.status();
    const std::string text = ToText(*counted);
    EXPECT_NE(text.find("%@vote@all_reduce = all_reduce(%@vote) axes=data,model f32[1] {data:R model:R}\n"),
              std::string::npos)
        << text;
    EXPECT_NE(text.find(other), std::string::npos) << text;
  }
}

TEST(CountVotes, ARankThatIsAloneAsksNobody) {
  const std::string text = R"(mesh data:1
%x = input() f32[6,4] {data:R}
%n = sum_of_squares(%x) f32[] {data:R}
metric %n
)";
  EXPECT_EQ(ToText(*CountVotes(Parse(text), Ops())), text);
}

TEST(CountVotes, IsNoFieldAndNoResultOfTheUsers) {
  Strategy strategy;
  strategy.mesh.axes = {{"data", 2}};
  for (const bool counts : {false, true}) {
    ProgramOptions options;
    options.predictions = {"z"};
    options.count_votes = counts;
    options.verify_passes = true;
    const absl::StatusOr<Program> program = MakeProgram(TwoLayers(), strategy, Ops(), options);
    ASSERT_TRUE(program.ok()) << program.status();
    for (const EntryPoint& entry : program->entries) {
      SCOPED_TRACE(entry.name);
      EXPECT_EQ(entry.graph.votes.counted(), counts);
      EXPECT_EQ(entry.FindInput("@vote"), nullptr);
      EXPECT_EQ(entry.results.size(), ResultsOf(entry.graph).size());
      const size_t hidden = (entry.graph.apply != kNoValue ? 1 : 0) + (counts ? 1 : 0);
      EXPECT_EQ(ReadByHost(entry.graph).size(), entry.results.size() + hidden);
    }
  }
}

}  // namespace
}  // namespace partita
