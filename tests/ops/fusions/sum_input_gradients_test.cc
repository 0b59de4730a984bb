// Gradients of what several 1 x 1 convolutions read become one sum, text to text.
#include "ops/fusions/sum_input_gradients.h"

#include <gtest/gtest.h>

#include "graph/text/text.h"
#include "ops/registry.h"
#include "tests/graph/parse.h"

namespace partita {
namespace {

// On a mesh of 2 x 2 ranks, %dy and %dz with the layouts that `dy` and `dz` say; behind them `nodes`.
std::string Text(const std::string& nodes, const std::string& dy = "", const std::string& dz = "") {
  return "mesh data:2 model:2\n%dy = input() f32[2,5,7,3]" + dy + "\n%dz = input() f32[2,5,7,6]" + dz +
         "\n%p = input() f32[2,5,7,4]\n%v = parameter() initializer=constant f32[3,1,1,4]\n"
         "%w = parameter() initializer=constant f32[6,1,1,4]\n" +
         nodes;
}

constexpr char kTerms[] =
    "%a = conv2d_input_grad(%dy, %v) shape=[2,5,7,4] f32[2,5,7,4]\n"
    "%b = conv2d_input_grad(%dz, %w) shape=[2,5,7,4] f32[2,5,7,4]\n";
constexpr char kSum[] = " = conv2d_input_grad_sum(%dy, %v, %dz, %w) shape=[2,5,7,4] f32[2,5,7,4]\n";

std::string Summed(const std::string& text) { return ToText(SumInputGradients(Parse(text), Ops())); }

TEST(SumInputGradients, TheSumTakesThePlaceOfTheAdd) {
  const std::string add = "%dx = add(%a, %b) f32[2,5,7,4]\nmetric %dx\n";
  EXPECT_EQ(Summed(Text(kTerms + add)), ToText(Parse(Text(std::string("%dx") + kSum + "metric %dx\n"))));
}

TEST(SumInputGradients, WhatElseIsAddedIsAddedToTheSum) {
  const std::string add = "%dx = add(%a, %p, %b) f32[2,5,7,4]\nmetric %dx\n";
  const std::string rest = "%dx = add(%p, %dx@sum) f32[2,5,7,4]\nmetric %dx\n";
  EXPECT_EQ(Summed(Text(kTerms + add)), ToText(Parse(Text(std::string("%dx@sum") + kSum + rest))));
}

TEST(SumInputGradients, OthersStayApart) {
  const std::string add = "%dx = add(%a, %b) f32[2,5,7,4]\nmetric %dx\n";
  for (const std::string& text :
       {Text(kTerms + add + "metric %a\n"),  // one of two is read by somebody else
        Text("%a = relu(%p) f32[2,5,7,4]\n" + std::string(kTerms).substr(std::string(kTerms).find("%b")) + add)}) {
    EXPECT_EQ(Summed(text), ToText(Parse(text)));
  }
}

TEST(SumInputGradients, OfCotangentsThatLieAlikeInWholePixels) {
  const std::string rows = " {data:S1 model:R}", channels = " {data:R model:S3}", samples = " {data:S0 model:R}";
  const auto text = [](const std::string& of_dy, const std::string& of_dz, const std::string& of_sum) {
    return Text("%a = conv2d_input_grad(%dy, %v) shape=[2,5,7,4] f32[2,5,7,4]" + of_dy +
                    "\n%b = conv2d_input_grad(%dz, %w) shape=[2,5,7,4] f32[2,5,7,4]" + of_dz +
                    "\n%dx = add(%a, %b) f32[2,5,7,4]" + of_sum + "\nmetric %dx\n",
                of_dy, of_dz);
  };
  const std::string apart = text(rows, samples, rows), by_channels = text(channels, channels, channels);
  EXPECT_EQ(Summed(apart), ToText(Parse(apart)));
  EXPECT_EQ(Summed(by_channels), ToText(Parse(by_channels)));
  EXPECT_NE(Summed(text(rows, rows, rows)).find("conv2d_input_grad_sum(%dy, %v, %dz, %w)"), std::string::npos);
}

}  // namespace
}  // namespace partita
