// What joins the launches of a small batch norm, text to text.
#include "ops/fusions/fuse_small_batch_norms.h"

#include <gtest/gtest.h>

#include <string>

#include "graph/text/text.h"
#include "graph/verify/verify_graph.h"
#include "ops/registry.h"
#include "tests/graph/parse.h"

namespace partita {
namespace {

// What a batch norm of x reads, and behind it `nodes`; `x` is its type and, on a mesh, its layout.
std::string Text(const std::string& x, const std::string& nodes, const std::string& mesh = "", const char* whole = "") {
  const std::string vector = std::string(" f32[4]") + whole + "\n";
  return mesh + "%x = input() " + x + "\n%gamma = parameter() initializer=constant" + vector +
         "%beta = parameter() initializer=constant" + vector + "%mean = state() initializer=constant" + vector + nodes;
}

std::string Fused(const std::string& text) {
  const Graph graph = FuseSmallBatchNorms(Parse(text), Ops());
  EXPECT_TRUE(VerifyGraph(graph).ok());
  return ToText(graph);
}

TEST(FuseSmallBatchNorms, ForwardIsOneNode) {
  const std::string x = "f32[64,8,8,4]";
  const std::string before =
      "%s = batch_norm_statistics(%x, %mean) f64[1,2,4]\n"
      "%y = batch_norm_normalize(%x, %s, %mean, %gamma, %beta) relu=true f32[64,8,8,4]\nmetric %y\nmetric %s\n";
  EXPECT_EQ(Fused(Text(x, before)),
            Text(x,
                 "%y, %s = batch_norm_forward(%x, %mean, %gamma, %beta) relu=true f32[64,8,8,4], f64[1,2,4]\n"
                 "metric %y\nmetric %s\n"));
}

// What is read before the normalize has to be there before it.
TEST(FuseSmallBatchNorms, GammaMayComeBehindTheStatistics) {
  const std::string type = "f32[6,4]", gamma = "%g = parameter() initializer=constant f32[4]\n";
  const std::string sums = "%s = batch_norm_statistics(%x, %mean) f64[1,2,4]\n", read = "metric %y\nmetric %t\n";
  const std::string other = "%t = scale(%s) factor=2.0 f64[1,2,4]\n";
  const std::string y = "%y = batch_norm_normalize(%x, %s, %mean, %g, %beta) f32[6,4]\n";
  EXPECT_EQ(
      Fused(Text(type, sums + gamma + y + other + read)),
      Text(type, gamma + "%y, %s = batch_norm_forward(%x, %mean, %g, %beta) f32[6,4], f64[1,2,4]\n" + other + read));
  EXPECT_EQ(Fused(Text(type, sums + gamma + other + y + read)), Text(type, sums + gamma + other + y + read));
}

TEST(FuseSmallBatchNorms, BackwardIsOneNode) {
  const std::string x = "f32[64,8,8,4]", given = "%dy = input() f32[64,8,8,4]\n%s = input() f64[1,2,4]\n";
  const std::string before =
      given +
      R"(%ds, %dg, %db = batch_norm_gradient_sums(%x, %dy, %s, %mean, %gamma, %beta) f64[1,2,4], f32[4], f32[4]
%dx = batch_norm_input_grad(%x, %dy, %s, %mean, %gamma, %beta, %ds) f32[64,8,8,4]
metric %dx
metric %dg
)";
  EXPECT_EQ(
      Fused(Text(x, before)),
      Text(x,
           given +
               R"(%dx, %dg, %db = batch_norm_backward(%x, %dy, %s, %mean, %gamma, %beta) f32[64,8,8,4], f32[4], f32[4]
metric %dx
metric %dg
)"));
}

// 4097 rows, statistics that another node changes, a cotangent that somebody else looks at.
TEST(FuseSmallBatchNorms, NothingElseIsJoined) {
  const std::string normalize = "%y = batch_norm_normalize(%x, %s, %mean, %gamma, %beta) f32[17,241,1,4]\nmetric %y\n";
  const std::string large = Text("f32[17,241,1,4]", "%s = batch_norm_statistics(%x, %mean) f64[1,2,4]\n" + normalize);
  EXPECT_EQ(Fused(large), large);
  const std::string other =
      Text("f32[6,4]",
           "%s = batch_norm_statistics(%x, %mean) f64[1,2,4]\n%t = scale(%s) factor=2.0 f64[1,2,4]\n"
           "%y = batch_norm_normalize(%x, %t, %mean, %gamma, %beta) f32[6,4]\nmetric %y\n");
  EXPECT_EQ(Fused(other), other);
  const std::string looked_at = Text("f32[6,4]", R"(%s = input() f64[1,2,4]
%ds, %dg, %db = batch_norm_gradient_sums(%x, %x, %s, %mean, %gamma, %beta) f64[1,2,4], f32[4], f32[4]
%dx = batch_norm_input_grad(%x, %x, %s, %mean, %gamma, %beta, %ds) f32[6,4]
metric %dx
metric %ds
)");
  EXPECT_EQ(Fused(looked_at), looked_at);
}

// What counts is the rows of a rank: 4096 of 8192, and 4160 of 8320.
TEST(FuseSmallBatchNorms, RowsAreThoseOfARank) {
  for (const int samples : {64, 65}) {
    const std::string half = std::to_string(samples), images = std::to_string(2 * samples) + ",8,8,4] {data:S0}";
    const std::string text = Text("f32[" + images,
                                  "%s = batch_norm_statistics(%x, %mean) samples=" + half +
                                      " f64[2,2,4] {data:S0}\n"
                                      "%y = batch_norm_normalize(%x, %s, %mean, %gamma, %beta) samples=" +
                                      half + " f32[" + images + "\nmetric %y\n",
                                  "mesh data:2\n", " {data:R}");
    EXPECT_EQ(Fused(text).find("batch_norm_forward") != std::string::npos, samples == 64) << Fused(text);
  }
}

}  // namespace
}  // namespace partita
