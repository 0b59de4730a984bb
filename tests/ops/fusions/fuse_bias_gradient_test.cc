// Which gradients of a bias join that of a weight: text to text.
#include "ops/fusions/fuse_bias_gradient.h"

#include <gtest/gtest.h>

#include "graph/text/text.h"
#include "graph/verify/verify_graph.h"
#include "ops/registry.h"
#include "tests/graph/parse.h"

namespace partita {
namespace {

constexpr char kInputs[] = R"(%x = input() f32[6,5]
%dy = input() f32[6,7]
)";

// What nodes behind two inputs become; all results are read.
std::string Fused(const std::string& nodes) {
  const Graph fused = FuseBiasGradient(Parse(kInputs + nodes), Ops());
  EXPECT_TRUE(VerifyGraph(fused).ok()) << VerifyGraph(fused);
  const std::string text = ToText(fused);
  EXPECT_EQ(text.substr(0, sizeof(kInputs) - 1), kInputs);
  return text.substr(sizeof(kInputs) - 1);
}

TEST(FuseBiasGradient, JoinsTheProductOfTheSameCotangent) {
  const std::string dw = "%dw = matmul(%x, %dy) transpose_x=true f32[5,7]\n", db = "%db = bias_grad(%dy) f32[7]\n",
                    read = "metric %dw\nmetric %db\n";
  const std::string joined = "%dw, %db = matmul_bias_grad(%x, %dy) transpose_x=true f32[5,7], f32[7]\n" + read;
  EXPECT_EQ(Fused(dw + db + read), joined);
  EXPECT_EQ(Fused(db + dw + read), joined);
}

TEST(FuseBiasGradient, OfATransposedWeightItIsTheFirstOperand) {
  EXPECT_EQ(Fused("%dw = matmul(%dy, %x) transpose_x=true f32[7,5]\n%db = bias_grad(%dy) f32[7]\n"
                  "metric %dw\nmetric %db\n"),
            "%dw, %db = matmul_bias_grad(%dy, %x) bias_of=x transpose_x=true f32[7,5], f32[7]\n"
            "metric %dw\nmetric %db\n");
}

// The joined node stands where the first stood: what reads a result stays behind it.
TEST(FuseBiasGradient, ReadersStayBehind) {
  EXPECT_EQ(Fused(R"(%db = bias_grad(%dy) f32[7]
%z = relu(%db) f32[7]
%dw = matmul(%x, %dy) transpose_x=true f32[5,7]
metric %z
metric %dw
)"),
            R"(%dw, %db = matmul_bias_grad(%x, %dy) transpose_x=true f32[5,7], f32[7]
%z = relu(%db) f32[7]
metric %z
metric %dw
)");
}

// An input gradient adds up other elements, another cotangent is none of this bias, and an operand may come too late.
TEST(FuseBiasGradient, NothingElseIsJoined) {
  for (const std::string nodes : {R"(%w = parameter() initializer=constant f32[5,7]
%dx = matmul(%dy, %w) transpose_w=true f32[6,5]
%db = bias_grad(%dy) f32[7]
metric %dx
metric %db
)",
                                  R"(%other = relu(%dy) f32[6,7]
%dw = matmul(%x, %other) transpose_x=true f32[5,7]
%db = bias_grad(%dy) f32[7]
metric %dw
metric %db
)",
                                  R"(%db = bias_grad(%dy) f32[7]
%z = relu(%x) f32[6,5]
%dw = matmul(%z, %dy) transpose_x=true f32[5,7]
metric %dw
metric %db
)"}) {
    EXPECT_EQ(Fused(nodes), nodes);
  }
}

constexpr char kNarrow[] = R"(%x@bf16 = cast(%x) bf16[6,5]
%dy@bf16 = cast(%dy) bf16[6,7]
)";

// A sum of bf16 is f32: the weight's gradient must be, too.
TEST(FuseBiasGradient, OfBf16TakesThePlaceOfTheCast) {
  const std::string product = "%p = matmul(%x@bf16, %dy@bf16) transpose_x=true bf16[5,7]\n",
                    db = "%db = bias_grad(%dy@bf16) f32[7]\n", cast = "%dw = cast(%p) f32[5,7]\n",
                    read = "metric %dw\nmetric %db\n";
  EXPECT_EQ(Fused(kNarrow + product + cast + db + read),
            kNarrow +
                std::string("%dw, %db = matmul_bias_grad(%x@bf16, %dy@bf16) transpose_x=true f32[5,7], f32[7]\n") +
                read);
  const std::string twice = kNarrow + product + cast + db + read + "metric %p\n";
  EXPECT_EQ(Fused(twice), twice);
}

}  // namespace
}  // namespace partita
