// What joins a batch norm and its gradient, text to text.
#include <gtest/gtest.h>

#include "graph/text/text.h"
#include "ops/fusions/fuse_batch_norm_gradient.h"
#include "ops/fusions/fuse_normalize_relu.h"
#include "ops/registry.h"
#include "tests/graph/parse.h"
#include "tests/graph/stateful_text.h"

namespace partita {
namespace {

TEST(FuseNormalizeRelu, ReluJoinsTheNormalizeBeforeIt) {
  const std::string nodes = "%s = batch_norm_statistics(%x, %mean) f64[1,2,4]\n";
  const Graph graph =
      Parse(BatchNormText(nodes + "%y = batch_norm_normalize(%x, %s, %mean, %gamma, %beta) f32[6,5,5,4]\n"
                                  "%r = relu(%y) f32[6,5,5,4]\nmetric %r\n"));
  EXPECT_EQ(ToText(FuseNormalizeRelu(graph, Ops())),
            BatchNormText(
                nodes + "%r = batch_norm_normalize(%x, %s, %mean, %gamma, %beta) relu=true f32[6,5,5,4]\nmetric %r\n"));
}

TEST(FuseNormalizeRelu, ASecondReaderKeepsBoth) {
  const std::string text = BatchNormText(
      "%y = batch_norm_inference(%x, %gamma, %beta, %mean, %variance) f32[6,5,5,4]\n"
      "%r = relu(%y) f32[6,5,5,4]\nmetric %r\nmetric %y\n");
  EXPECT_EQ(ToText(FuseNormalizeRelu(Parse(text), Ops())), text);
}

TEST(FuseBatchNormGradient, OnePassForBothWays) {
  const std::string nodes = R"(%dy = input() f32[6,5,5,4]
%s = batch_norm_statistics(%x, %mean) f64[1,2,4]
%ds = input() f64[1,2,4]
)";
  const Graph graph = Parse(
      BatchNormText(nodes + R"(%a = batch_norm_normalize_input_grad(%x, %dy, %s, %mean, %gamma, %beta) f32[6,5,5,4]
%b = batch_norm_statistics_grad(%x, %mean, %ds) f32[6,5,5,4]
%c = add(%a, %b) f32[6,5,5,4]
metric %c
)"));
  EXPECT_EQ(ToText(FuseBatchNormGradient(graph, Ops())),
            BatchNormText(nodes + "%c = batch_norm_input_grad(%x, %dy, %s, %mean, %gamma, %beta, %ds) f32[6,5,5,4]\n"
                                  "metric %c\n"));
}

}  // namespace
}  // namespace partita
