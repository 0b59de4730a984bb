// What joins a residual sum and its relu to the batch norm before it, text to text.
#include "ops/fusions/fuse_normalize_add.h"

#include <gtest/gtest.h>

#include <string>

#include "graph/text/text.h"
#include "graph/verify/verify_graph.h"
#include "ops/fusions/fuse_small_batch_norms.h"
#include "ops/registry.h"
#include "tests/graph/parse.h"
#include "tests/graph/stateful_text.h"

namespace partita {
namespace {

const std::string& kGiven = *new std::string(
    "%r = input() f32[6,5,5,4]\n"
    "%s = batch_norm_statistics(%x, %mean) f64[1,2,4]\n");
const std::string& kNormalize =
    *new std::string("%n = batch_norm_normalize(%x, %s, %mean, %gamma, %beta) f32[6,5,5,4]\n");
const std::string& kAddAndRelu = *new std::string("%a = add(%n, %r) f32[6,5,5,4]\n%y = relu(%a) f32[6,5,5,4]\n");
const std::string& kJoined =
    *new std::string("%y = batch_norm_normalize_add(%x, %s, %mean, %gamma, %beta, %r) relu=true f32[6,5,5,4]\n");

std::string Fused(const std::string& nodes) {
  const Graph graph = FuseNormalizeAdd(Parse(BatchNormText(nodes)), Ops());
  EXPECT_TRUE(VerifyGraph(graph).ok()) << VerifyGraph(graph);
  return ToText(graph);
}

TEST(FuseNormalizeAdd, TheSumAndTheReluJoin) {
  for (const char* const added : {"%n, %r", "%r, %n"}) {
    EXPECT_EQ(
        Fused(kGiven + kNormalize + "%a = add(" + added + ") f32[6,5,5,4]\n%y = relu(%a) f32[6,5,5,4]\nmetric %y\n"),
        BatchNormText(kGiven + kJoined + "metric %y\n"));
  }
}

TEST(FuseNormalizeAdd, WithoutARelu) {
  const std::string rest = "%y = relu(%a) f32[6,5,5,4]\nmetric %y\nmetric %a\n";
  EXPECT_EQ(
      Fused(kGiven + kNormalize + "%a = add(%n, %r) f32[6,5,5,4]\n" + rest),
      BatchNormText(kGiven + "%a = batch_norm_normalize_add(%x, %s, %mean, %gamma, %beta, %r) f32[6,5,5,4]\n" + rest));
}

// The running statistics may be made between the normalize and the sum, and still change nothing.
TEST(FuseNormalizeAdd, TheJoinedNodeStandsWhereTheNormalizeStood) {
  const std::string other = "%t = scale(%s) factor=2.0 f64[1,2,4]\n", read = "metric %y\nmetric %t\n";
  EXPECT_EQ(Fused(kGiven + kNormalize + other + kAddAndRelu + read), BatchNormText(kGiven + kJoined + other + read));
}

TEST(FuseNormalizeAdd, AResidualMayComeLater) {
  const std::string statistics = "%s = batch_norm_statistics(%x, %mean) f64[1,2,4]\n";
  const std::string residual = "%r = scale(%x) factor=2.0 f32[6,5,5,4]\n";
  EXPECT_EQ(Fused(statistics + kNormalize + residual + kAddAndRelu + "metric %y\n"),
            BatchNormText(statistics + residual + kJoined + "metric %y\n"));
}

// The projection of a block is a batch norm as well. The later of both joins, whichever is named first.
TEST(FuseNormalizeAdd, TheLaterOfTwoBatchNorms) {
  const std::string earlier = "%m = batch_norm_normalize(%x, %s, %mean, %beta, %gamma) f32[6,5,5,4]\n";
  for (const char* const added : {"%n, %m", "%m, %n"}) {
    EXPECT_EQ(Fused(kGiven + earlier + kNormalize + "%a = add(" + added +
                    ") f32[6,5,5,4]\n%y = relu(%a) f32[6,5,5,4]\nmetric %y\n"),
              BatchNormText(kGiven + earlier +
                            "%y = batch_norm_normalize_add(%x, %s, %mean, %gamma, %beta, %m) relu=true f32[6,5,5,4]\n"
                            "metric %y\n"));
  }
}

// Of something that is read besides, a relu before the sum, three summands, twice the same.
TEST(FuseNormalizeAdd, NoOtherSumJoins) {
  const std::string relu = "%n = batch_norm_normalize(%x, %s, %mean, %gamma, %beta) relu=true f32[6,5,5,4]\n";
  for (const std::string& nodes : {kNormalize + "%a = add(%n, %r) f32[6,5,5,4]\nmetric %a\nmetric %n\n",
                                   relu + "%a = add(%n, %r) f32[6,5,5,4]\nmetric %a\n",
                                   kNormalize + "%a = add(%n, %r, %x) f32[6,5,5,4]\nmetric %a\n",
                                   kNormalize + "%a = add(%n, %n) f32[6,5,5,4]\nmetric %a\n"}) {
    EXPECT_EQ(Fused(kGiven + nodes), BatchNormText(kGiven + nodes));
  }
}

// Of few rows it is one launch.
TEST(FuseNormalizeAdd, ASmallBatchNormJoins) {
  const std::string before = kGiven + kNormalize + kAddAndRelu + "metric %y\nmetric %s\n";
  EXPECT_EQ(ToText(FuseSmallBatchNorms(FuseNormalizeAdd(Parse(BatchNormText(before)), Ops()), Ops())),
            BatchNormText("%r = input() f32[6,5,5,4]\n"
                          "%y, %s = batch_norm_forward_add(%x, %mean, %gamma, %beta, %r) relu=true f32[6,5,5,4], "
                          "f64[1,2,4]\nmetric %y\nmetric %s\n"));
}

}  // namespace
}  // namespace partita
