// Which gradients of a relu join the product of their cotangent: text to text.
#include "ops/fusions/fuse_relu_masks.h"

#include <gtest/gtest.h>

#include "graph/text/text.h"
#include "graph/verify/verify_graph.h"
#include "ops/registry.h"
#include "tests/graph/parse.h"

namespace partita {
namespace {

constexpr char kInputs[] = R"(%x = input() f32[6,5]
%w = input() f32[5,7]
%b = input() f32[7]
%v = input() f32[7,3]
%dz = input() f32[6,3]
)";
constexpr char kRelu[] = "%y = matmul_epilogue(%x, %w, %b) activation=relu f32[6,7]\n";
constexpr char kProduct[] = "%dy = matmul(%dz, %v) transpose_w=true f32[6,7]\n";
constexpr char kGradient[] = "%d = relu_grad(%dy, %y) f32[6,7]\n";

// What nodes behind the inputs become.
std::string Fused(const std::string& nodes) {
  const Graph fused = FuseReluMasks(Parse(kInputs + nodes), Ops());
  EXPECT_TRUE(VerifyGraph(fused).ok()) << VerifyGraph(fused);
  const std::string text = ToText(fused);
  EXPECT_EQ(text.substr(0, sizeof(kInputs) - 1), kInputs);
  return text.substr(sizeof(kInputs) - 1);
}

TEST(FuseReluMasks, TheGradientReadsBitsOfTheResult) {
  EXPECT_EQ(Fused(std::string(kRelu) + kProduct + kGradient + "metric %y\nmetric %d\n"),
            "%y, %y@mask = matmul_relu_mask(%x, %w, %b) f32[6,7], u8[6,16]\n"
            "%d = matmul_relu_grad(%dz, %v, %y@mask) transpose_w=true f32[6,7]\nmetric %y\nmetric %d\n");
}

TEST(FuseReluMasks, WithoutABiasToo) {
  EXPECT_EQ(Fused(std::string("%y = matmul_epilogue(%x, %w, _) activation=relu f32[6,7]\n") + kProduct + kGradient +
                  "metric %d\n"),
            "%y, %y@mask = matmul_relu_mask(%x, %w, _) f32[6,7], u8[6,16]\n"
            "%d = matmul_relu_grad(%dz, %v, %y@mask) transpose_w=true f32[6,7]\nmetric %d\n");
}

// Somebody else reads the cotangent, no product makes it, or no product made the relu.
TEST(FuseReluMasks, NothingElseIsJoined) {
  for (const std::string& nodes :
       {std::string(kRelu) + kProduct + kGradient + "metric %d\nmetric %dy\n",
        std::string(kRelu) + kProduct + "%e = add(%dy, %dy) f32[6,7]\n%d = relu_grad(%e, %y) f32[6,7]\nmetric %d\n",
        "%a = matmul(%x, %w) f32[6,7]\n%y = relu(%a) f32[6,7]\n" + std::string(kProduct) + kGradient +
            "metric %d\nmetric %a\n",
        "%y = matmul_epilogue(%x, %w, %b) f32[6,7]\n" + std::string(kProduct) + kGradient + "metric %d\n"}) {
    EXPECT_EQ(Fused(nodes), nodes);
  }
}

// Channels that are cut share no bytes, and summands are no cotangent yet.
TEST(FuseReluMasks, RowsAreWhole) {
  const std::string split = R"(mesh model:2
%x = input() f32[6,5]
%w = input() f32[5,8] {model:S1}
%v = input() f32[8,3] {model:S0}
%dz = input() f32[6,3]
%y = matmul_epilogue(%x, %w, _) activation=relu f32[6,8] {model:S1}
%dy = matmul(%dz, %v) transpose_w=true f32[6,8] {model:S1}
%d = relu_grad(%dy, %y) f32[6,8] {model:S1}
metric %d
)";
  EXPECT_EQ(ToText(FuseReluMasks(Parse(split), Ops())), ToText(Parse(split)));
}

}  // namespace
}  // namespace partita
