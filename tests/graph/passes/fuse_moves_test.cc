// The pass is its picture, text to text.
#include "graph/passes/fuse_moves.h"

#include <gtest/gtest.h>

#include "graph/text/text.h"
#include "ops/registry.h"
#include "tests/graph/parse.h"

namespace partita {
namespace {

TEST(FuseMoves, AllReduceThenSliceIsReduceScatter) {
  const Graph graph = Parse(R"(mesh data:2
%a = input() f32[4] {data:P}
%b = all_reduce(%a) axes=data f32[4] {data:R}
%c = slice_move(%b) axes=data f32[4] {data:S0}
metric %c
)");
  EXPECT_EQ(ToText(FuseMoves(graph, Ops(), InputGradients::kAllReduce)), R"(mesh data:2
%a = input() f32[4] {data:P}
%c = reduce_scatter(%a) axes=data f32[4] {data:S0}
metric %c
)");
}

constexpr char kSumBeforeReshape[] = R"(mesh data:2 model:2
%a = input() f32[4,12] {data:S0 model:P}
%b = all_reduce(%a) axes=model f32[4,12] {data:S0 model:R}
%c = reshape(%b) f32[4,2,6] {data:S0 model:R}
%d = slice_move(%c) axes=model f32[4,2,6] {data:S0 model:S2}
metric %d
)";

TEST(FuseMoves, SummandsPassAReshape) {
  EXPECT_EQ(ToText(FuseMoves(Parse(kSumBeforeReshape), Ops(), InputGradients::kReduceScatter)),
            R"(mesh data:2 model:2
%a = input() f32[4,12] {data:S0 model:P}
%c = reshape(%a) f32[4,2,6] {data:S0 model:P}
%d = reduce_scatter(%c) axes=model f32[4,2,6] {data:S0 model:S2}
metric %d
)");
}

TEST(FuseMoves, InThePapersFormTheSumBeforeAReshapeStaysWhole) {
  EXPECT_EQ(ToText(FuseMoves(Parse(kSumBeforeReshape), Ops(), InputGradients::kAllReduce)), kSumBeforeReshape);
}

TEST(FuseMoves, ASecondReaderOfTheReshapedSumKeepsTheAllReduce) {
  std::string text = kSumBeforeReshape;
  text += "metric %c\n";
  EXPECT_EQ(ToText(FuseMoves(Parse(text), Ops(), InputGradients::kReduceScatter)), text);
}

TEST(FuseMoves, ASecondReaderKeepsTheAllReduce) {
  const std::string text = R"(mesh data:2
%a = input() f32[4] {data:P}
%b = all_reduce(%a) axes=data f32[4] {data:R}
%c = slice_move(%b) axes=data f32[4] {data:S0}
metric %b
metric %c
)";
  EXPECT_EQ(ToText(FuseMoves(Parse(text), Ops(), InputGradients::kReduceScatter)), text);
}

}  // namespace
}  // namespace partita
