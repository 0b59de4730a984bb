// What joins a convolution or a product, and what does not: text to text.
#include "ops/fusions/fuse_epilogues.h"

#include <gtest/gtest.h>

#include "graph/text/text.h"
#include "graph/verify/verify_graph.h"
#include "ops/registry.h"
#include "tests/graph/parse.h"

namespace partita {
namespace {

constexpr char kConvolution[] = R"(%x = input() f32[6,5,5,4]
%w = parameter() initializer=constant f32[8,3,3,4]
%v = parameter() initializer=constant f32[8]
)";

// The nodes of a convolution's chain, and what they become; all results are read.
std::string Fused(const std::string& nodes) {
  const Graph fused = FuseEpilogues(Parse(kConvolution + nodes), Ops());
  EXPECT_TRUE(VerifyGraph(fused).ok()) << VerifyGraph(fused);
  const std::string text = ToText(fused);
  EXPECT_EQ(text.substr(0, sizeof(kConvolution) - 1), kConvolution);
  return text.substr(sizeof(kConvolution) - 1);
}

TEST(FuseEpilogues, BiasAndReluJoinTheConvolutionBeforeThem) {
  EXPECT_EQ(Fused(R"(%a = conv2d(%x, %w) padding=[1,1,1,1] f32[6,5,5,8]
%b = bias(%a, %v) f32[6,5,5,8]
%y = relu(%b) f32[6,5,5,8]
metric %y
)"),
            "%y = conv2d_epilogue(%x, %w, %v) activation=relu padding=[1,1,1,1] f32[6,5,5,8]\nmetric %y\n");
}

TEST(FuseEpilogues, EitherMayBeAlone) {
  EXPECT_EQ(Fused("%a = conv2d(%x, %w) f32[6,3,3,8]\n%y = bias(%a, %v) f32[6,3,3,8]\nmetric %y\n"),
            "%y = conv2d_epilogue(%x, %w, %v) f32[6,3,3,8]\nmetric %y\n");
  EXPECT_EQ(Fused("%a = conv2d(%x, %w) f32[6,3,3,8]\n%y = relu(%a) f32[6,3,3,8]\nmetric %y\n"),
            "%y = conv2d_epilogue(%x, %w, _) activation=relu f32[6,3,3,8]\nmetric %y\n");
}

// The bias may come after the product: the joined node stands where the last one did.
TEST(FuseEpilogues, OfAMatrixProductToo) {
  const Graph graph = Parse(R"(%x = input() f32[6,5]
%w = parameter() initializer=constant f32[7,5]
%a = matmul(%x, %w) transpose_w=true f32[6,7]
%v = parameter() initializer=constant f32[7]
%b = bias(%a, %v) f32[6,7]
%y = relu(%b) f32[6,7]
%z = relu(%y) f32[6,7]
metric %z
)");
  EXPECT_EQ(ToText(FuseEpilogues(graph, Ops())), R"(%x = input() f32[6,5]
%w = parameter() initializer=constant f32[7,5]
%v = parameter() initializer=constant f32[7]
%y = matmul_epilogue(%x, %w, %v) activation=relu transpose_w=true f32[6,7]
%z = relu(%y) f32[6,7]
metric %z
)");
}

TEST(FuseEpilogues, ASecondReaderKeepsWhatItReads) {
  const std::string conv = "%a = conv2d(%x, %w) f32[6,3,3,8]\n", bias = "%b = bias(%a, %v) f32[6,3,3,8]\n",
                    relu = "%y = relu(%b) f32[6,3,3,8]\nmetric %y\n";
  EXPECT_EQ(Fused(conv + bias + relu + "metric %a\n"), conv + bias + relu + "metric %a\n");
  EXPECT_EQ(Fused(conv + bias + relu + "metric %b\n"),
            "%b = conv2d_epilogue(%x, %w, %v) f32[6,3,3,8]\n" + relu + "metric %b\n");
}

// A sum over ranks takes the bias on one of them, and relu on none; nor does a move stand inside a node.
TEST(FuseEpilogues, ASumKeepsAll) {
  for (const std::string text : {R"(mesh model:2
%x = input() f32[6,4] {model:S1}
%w = parameter() initializer=constant f32[4,8] {model:S0}
%v = parameter() initializer=constant f32[8] {model:P}
%a = matmul(%x, %w) f32[6,8] {model:P}
%y = bias(%a, %v) f32[6,8] {model:P}
metric %y
)",
                                 R"(mesh model:2
%x = input() f32[6,4] {model:S1}
%w = parameter() initializer=constant f32[4,8] {model:S0}
%a = matmul(%x, %w) f32[6,8] {model:P}
%s = all_reduce(%a) axes=model f32[6,8] {model:R}
%y = relu(%s) f32[6,8] {model:R}
metric %y
)"}) {
    EXPECT_EQ(ToText(FuseEpilogues(Parse(text), Ops())), text);
  }
}

TEST(FuseEpilogues, TheBiasIsSplitAsTheOutputChannels) {
  const Graph fused = FuseEpilogues(Parse(R"(mesh model:2
%x = input() f32[6,4] {model:R}
%w = parameter() initializer=constant f32[4,8] {model:S1}
%v = parameter() initializer=constant f32[8] {model:S0}
%a = matmul(%x, %w) f32[6,8] {model:S1}
%y = bias(%a, %v) f32[6,8] {model:S1}
metric %y
)"),
                                    Ops());
  EXPECT_NE(ToText(fused).find("%y = matmul_epilogue(%x, %w, %v) f32[6,8] {model:S1}\n"), std::string::npos);
  EXPECT_TRUE(VerifyGraph(fused).ok()) << VerifyGraph(fused);
}

}  // namespace
}  // namespace partita
