// Which products of bf16 are made wide at once: text to text.
#include "ops/fusions/fuse_widening.h"

#include <gtest/gtest.h>

#include "graph/text/text.h"
#include "graph/verify/verify_graph.h"
#include "ops/registry.h"
#include "tests/graph/parse.h"

namespace partita {
namespace {

constexpr char kInputs[] = R"(%x = input() f32[6,5]
%w = parameter() initializer=constant f32[5,7]
%b = parameter() initializer=constant f32[7]
%x@bf16 = cast(%x) bf16[6,5]
%w@bf16 = cast(%w) bf16[5,7]
)";

// What nodes behind the inputs become.
std::string Fused(const std::string& nodes) {
  const Graph fused = FuseWidening(Parse(kInputs + nodes), Ops());
  EXPECT_TRUE(VerifyGraph(fused).ok()) << VerifyGraph(fused);
  const std::string text = ToText(fused);
  EXPECT_EQ(text.substr(0, sizeof(kInputs) - 1), kInputs);
  return text.substr(sizeof(kInputs) - 1);
}

TEST(FuseWidening, TheProductTakesThePlaceOfItsCast) {
  EXPECT_EQ(Fused(R"(%p = matmul_epilogue(%x@bf16, %w@bf16, %b) bf16[6,7]
%y = cast(%p) f32[6,7]
metric %y
)"),
            R"(%y = matmul_epilogue(%x@bf16, %w@bf16, %b) wide=true f32[6,7]
metric %y
)");
}

TEST(FuseWidening, AProductWithoutAnEpilogueBecomesOneWith) {
  EXPECT_EQ(Fused(R"(%p = matmul(%x@bf16, %w@bf16) bf16[6,7]
%y = cast(%p) f32[6,7]
%z = relu(%y) f32[6,7]
metric %y
metric %z
)"),
            R"(%y = matmul_epilogue(%x@bf16, %w@bf16, _) wide=true f32[6,7]
%z = relu(%y) f32[6,7]
metric %y
metric %z
)");
}

// Over samples that ranks share; what is added up is wide.
TEST(FuseWidening, ASummandOfAWeightsGradientToo) {
  const std::string inputs = R"(mesh data:2
%x@f32 = input() f32[6,5] {data:S0}
%dy@f32 = input() f32[6,7] {data:S0}
%x = cast(%x@f32) bf16[6,5] {data:S0}
%dy = cast(%dy@f32) bf16[6,7] {data:S0}
)";
  const std::string sum = "%d = all_reduce(%w) axes=data f32[5,7] {data:R}\nmetric %d\n";
  const std::string product =
      "%p = matmul(%x, %dy) transpose_x=true bf16[5,7] {data:P}\n%w = cast(%p) f32[5,7] {data:P}\n";
  const std::string wide = "%w = matmul_epilogue(%x, %dy, _) transpose_x=true wide=true f32[5,7] {data:P}\n";
  const Graph fused = FuseWidening(Parse(inputs + product + sum), Ops());
  EXPECT_TRUE(VerifyGraph(fused).ok()) << VerifyGraph(fused);
  EXPECT_EQ(ToText(fused), ToText(Parse(inputs + wide + sum)));
}

TEST(FuseWidening, WhatOthersReadStaysNarrow) {
  for (const std::string nodes : {R"(%p = matmul(%x@bf16, %w@bf16) bf16[6,7]
%y = cast(%p) f32[6,7]
%z = relu(%p) bf16[6,7]
metric %y
metric %z
)",
                                  R"(%r = relu(%x@bf16) bf16[6,5]
%y = cast(%r) f32[6,5]
metric %y
)"}) {
    EXPECT_EQ(Fused(nodes), nodes);
  }
}

}  // namespace
}  // namespace partita
