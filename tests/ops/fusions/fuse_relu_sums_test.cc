// What joins the gradient of a relu to the sums over its rows, text to text.
#include "ops/fusions/fuse_relu_sums.h"

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

const std::string& kStatistics = *new std::string("%s = batch_norm_statistics(%x, %mean) f64[1,2,4]\n");
const std::string& kGiven = *new std::string("%dy = input() f32[6,5,5,4]\n%y = input() f32[6,5,5,4]\n");
const std::string& kReluGradient = *new std::string("%d = relu_grad(%dy, %y) f32[6,5,5,4]\n");
const std::string& kSums = *new std::string(
    "%ds, %dg, %db = batch_norm_gradient_sums(%x, %d, %s, %mean, %gamma, %beta) f64[1,2,4], f32[4], f32[4]\n");
const std::string& kJoined = *new std::string(
    "%ds, %dg, %db, %d = batch_norm_gradient_sums_relu(%x, %dy, %s, %mean, %gamma, %beta, %y) f64[1,2,4], f32[4], "
    "f32[4], f32[6,5,5,4]\n");
const std::string& kInputGradient =
    *new std::string("%dx = batch_norm_input_grad(%x, %d, %s, %mean, %gamma, %beta, %ds) f32[6,5,5,4]\n");
const std::string& kReads = *new std::string("%b = scale(%d) factor=2.0 f32[6,5,5,4]\n");
const std::string& kResults = *new std::string("metric %dx\nmetric %dg\nmetric %b\n");

std::string Fused(const std::string& text) {
  const Graph graph = FuseReluSums(Parse(text), Ops());
  EXPECT_TRUE(VerifyGraph(graph).ok()) << VerifyGraph(graph);
  return ToText(graph);
}

std::string FusedNodes(const std::string& nodes) { return Fused(BatchNormText(nodes)); }

// The shortcut reads what the relu lets through as well, before or behind the sums.
TEST(FuseReluSums, OfABatchNorm) {
  EXPECT_EQ(FusedNodes(kStatistics + kGiven + kReluGradient + kSums + kInputGradient + kReads + kResults),
            BatchNormText(kStatistics + kGiven + kJoined + kInputGradient + kReads + kResults));
  EXPECT_EQ(FusedNodes(kStatistics + kGiven + kReluGradient + kReads + kSums + kInputGradient + kResults),
            BatchNormText(kStatistics + kGiven + kJoined + kReads + kInputGradient + kResults));
}

// Of two batch norms, that of the block and that of its projection, the first joins.
TEST(FuseReluSums, OfOneOfTwo) {
  const std::string other =
      "%es, %eg, %eb = batch_norm_gradient_sums(%x, %d, %s, %mean, %beta, %gamma) f64[1,2,4], f32[4], f32[4]\n";
  const std::string read = "metric %dg\nmetric %eg\n";
  EXPECT_EQ(FusedNodes(kStatistics + kGiven + kReluGradient + kSums + other + read),
            BatchNormText(kStatistics + kGiven + kJoined + other + read));
}

TEST(FuseReluSums, StatisticsThatComeLaterJoinNothing) {
  const std::string nodes = kGiven + kReluGradient + kStatistics + kSums + kInputGradient + kReads + kResults;
  EXPECT_EQ(FusedNodes(nodes), BatchNormText(nodes));
}

TEST(FuseReluSums, OfABias) {
  const std::string given = "%dy = input() f32[6,4]\n%y = input() f32[6,4]\n";
  const std::string read = "%b = scale(%d) factor=2.0 f32[6,4]\n", results = "metric %b\nmetric %db\n";
  EXPECT_EQ(Fused(given + "%d = relu_grad(%dy, %y) f32[6,4]\n" + read + "%db = bias_grad(%d) f32[4]\n" + results),
            given + "%db, %d = bias_grad_relu(%dy, %y) f32[4], f32[6,4]\n" + read + results);
}

// Of few rows it is one launch.
TEST(FuseReluSums, ASmallBatchNormJoins) {
  const std::string before = kStatistics + kGiven + kReluGradient + kSums + kInputGradient + kReads + kResults;
  EXPECT_EQ(ToText(FuseSmallBatchNorms(FuseReluSums(Parse(BatchNormText(before)), Ops()), Ops())),
            BatchNormText(kStatistics + kGiven +
                          "%dx, %dg, %db, %d = batch_norm_backward_relu(%x, %dy, %s, %mean, %gamma, %beta, %y) "
                          "f32[6,5,5,4], f32[4], f32[4], f32[6,5,5,4]\n" +
                          kReads + kResults));
}

// A split of the samples leaves the sums partial, and what the relu lets through split.
TEST(FuseReluSums, SplitLikeTheirParts) {
  const std::string whole = " {data:R}", split = " {data:S0}";
  const std::string given = "mesh data:2\n%x = input() f32[6,4]" + split + "\n%dy = input() f32[6,4]" + split +
                            "\n%y = input() f32[6,4]" + split + "\n%s = input() f64[1,2,4]" + whole +
                            "\n%v = parameter() initializer=constant f32[4]" + whole + "\n";
  const std::string partial = "f64[1,2,4] {data:P}, f32[4] {data:P}, f32[4] {data:P}", read = "metric %d\n";
  EXPECT_EQ(Fused(given + "%d = relu_grad(%dy, %y) f32[6,4]" + split +
                  "\n%ds, %dg, %db = batch_norm_gradient_sums(%x, %d, %s, %v, %v, %v) " + partial + "\n" + read),
            given + "%ds, %dg, %db, %d = batch_norm_gradient_sums_relu(%x, %dy, %s, %v, %v, %v, %y) " + partial +
                ", f32[6,4]" + split + "\n" + read);
}

}  // namespace
}  // namespace partita
