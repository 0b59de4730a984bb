// Kernels of tables that are read by ids, against what is reckoned by hand or written down a second time here.
#include <gmock/gmock.h>

#include <cmath>
#include <map>
#include <set>

#include "graph/ir/op_definition.h"
#include "ops/host/host_kernels.h"
#include "tests/ops/host/kernel_case.h"

namespace partita {
namespace {

std::vector<std::string> Families(const std::string& op) {
  std::vector<std::string> families;
  for (const std::string& kernel : HostKernelNames(op)) families.push_back(kernel.substr(0, kernel.find('_')));
  return families;
}

const TensorType kTable{DType::kF32, {4, 2}};

TEST(Embedding, ReadsRowsAndItsGradientAddsThemUp) {
  const TensorType ids{DType::kI32, {2, 3}}, dy{DType::kF32, {2, 3, 2}};
  const Values table = {0, 1, 10, 11, 20, 21, 30, 31}, read = {3, 1, 0, 1, 1, 3};
  const Values cotangent = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
  const LocalNode forward = WholeNode("embedding", {{"padding_row", int64_t{0}}}, {kTable, ids});
  const LocalNode gradient =
      WholeNode("embedding_grad", {{"padding_row", int64_t{0}}, {"rows", int64_t{4}}}, {std::nullopt, ids, dy});
  for (const std::string& family : Families("embedding")) {
    EXPECT_EQ(Outputs(forward, {table, read}, {.family = family})[0],
              (Values{30, 31, 10, 11, 0, 0, 10, 11, 10, 11, 30, 31}))
        << family;
    EXPECT_EQ(Outputs(gradient, {{}, read, cotangent}, {.family = family})[0],
              (Values{0, 0, 3 + 7 + 9, 4 + 8 + 10, 0, 0, 1 + 11, 2 + 12}))
        << family;
  }
}

// A rank that holds the middle rows reads zeros for the others, and adds up the gradients of its own.
TEST(Embedding, OfABlockOfTheRowsIsASummand) {
  const TensorType ids{DType::kI32, {4}}, dy{DType::kF32, {4, 2}};
  LocalNode forward = WholeNode("embedding", {}, {kTable, ids});
  LocalNode gradient = WholeNode("embedding_grad", {{"rows", int64_t{4}}}, {std::nullopt, ids, dy});
  Narrow(*forward.inputs[0], 0, 1, 3);
  Narrow(gradient.outputs[0], 0, 1, 3);
  for (const std::string& family : Families("embedding")) {
    EXPECT_EQ(Outputs(forward, {{10, 11, 20, 21}, {2, 0, 3, 1}}, {.family = family})[0],
              (Values{20, 21, 0, 0, 0, 0, 10, 11}))
        << family;
    EXPECT_EQ(Outputs(gradient, {{}, {2, 0, 3, 1}, {1, 2, 3, 4, 5, 6, 7, 8}}, {.family = family})[0],
              (Values{7, 8, 1, 2}))
        << family;
  }
}

// Also of rows that another rank holds: it is told by all.
TEST(Embedding, AnIdThatIsNoRowIsRefusedWithItsPlace) {
  LocalNode whole = WholeNode("embedding", {}, {kTable, TensorType{DType::kI32, {4, 3}}});
  Narrow(*whole.inputs[1], 0, 2, 4);
  Narrow(whole.outputs[0], 0, 2, 4);
  LocalNode block = WholeNode("embedding", {}, {kTable, TensorType{DType::kI32, {4}}});
  Narrow(*block.inputs[0], 0, 1, 3);
  for (const std::string& family : Families("embedding")) {
    const auto refusal = [&](const LocalNode& node, const std::vector<Values>& inputs) {
      return std::string(RunKernel(node, inputs, {.family = family}).status().message());
    };
    EXPECT_THAT(refusal(whole, {Values(8), {0, 1, 2, 3, 3, 4}}),
                testing::HasSubstr("sample 3 of the batch has id 4 at place 2, allowed are 0 to 3"));
    EXPECT_THAT(refusal(block, {Values(4), {0, 3, -1, 2}}),
                testing::HasSubstr("sample 2 of the batch has id -1, allowed are 0 to 3"));
  }
}

TEST(MergeRows, AddsUpRowsOfEachIdAndSortsThem) {
  const TensorType ids{DType::kI32, {2, 2}}, rows{DType::kF32, {2, 2, 2}}, more{DType::kI32, {3}};
  const LocalNode node =
      WholeNode("merge_rows", {{"padding_rows", IntList{0, -1}}}, {ids, rows, more, TensorType{DType::kF32, {3, 2}}});
  for (const std::string& family : Families("merge_rows")) {
    const std::vector<Values> merged = Outputs(
        node, {{7, 0, 2, 7}, {1, 2, 3, 4, 5, 6, 7, 8}, {2, 0, 9}, {10, 20, 30, 40, 50, 60}}, {.family = family});
    EXPECT_EQ(merged[0], (Values{0, 2, 7, 9, -1, -1, -1})) << family;
    EXPECT_EQ(merged[1], (Values{30, 40, 15, 26, 8, 10, 50, 60, 0, 0, 0, 0, 0, 0})) << family;
  }
}

// Rows of other ranks, and behind the last id, are left alone.
TEST(RowUpdates, ChangeTheRowsOfTheBlockAlone) {
  const TensorType scalar{DType::kF32, {}}, w{DType::kF32, {6, 2}};
  LocalNode node = WholeNode("sgd_rows", {},
                             {w, TensorType{DType::kI32, {4}}, TensorType{DType::kF32, {4, 2}}, scalar,
                              TensorType{DType::kI32, {}}, std::nullopt});
  Narrow(*node.inputs[0], 0, 2, 5);
  Narrow(node.outputs[0], 0, 2, 5);
  for (const std::string& family : Families("sgd_rows")) {
    EXPECT_EQ(Outputs(node, {{1, 2, 3, 4, 5, 6}, {0, 2, 4, -1}, {9, 9, 1, 2, 3, 4, 9, 9}, {0.5}, {1}, {}},
                      {.family = family})[0],
              (Values{0.5, 1, 3, 4, 3.5, 4}))
        << family;
  }
}

// The first classes come as often as the law says; each is drawn once, anew in each step.
TEST(LogUniformIds, AreDifferentAndFollowTheLaw) {
  constexpr int64_t kSamples = 20, kClasses = 100, kSteps = 2000;
  const LocalNode node = WholeNode("log_uniform_ids", {{"samples", kSamples}, {"classes", kClasses}, {"key", "loss"}},
                                   {TensorType{DType::kI32, {}}});
  std::map<double, double> often;
  std::vector<double> expected(kClasses, 0);
  for (int64_t step = 0; step < kSteps; ++step) {
    const std::vector<Values> drawn = Outputs(node, {{static_cast<double>(step)}});
    EXPECT_EQ(std::set<double>(drawn[0].begin(), drawn[0].end()).size(), static_cast<size_t>(kSamples)) << step;
    const double draws = drawn[1][0];
    EXPECT_GE(draws, kSamples);
    for (const double id : drawn[0]) often[id] += 1.0 / kSteps;
    for (int64_t c = 0; c < kClasses; ++c) {
      const double p = std::log((c + 2.0) / (c + 1.0)) / std::log(kClasses + 1.0);
      expected[static_cast<size_t>(c)] += (1 - std::pow(1 - p, draws)) / kSteps;
    }
  }
  for (int64_t c = 0; c < kClasses; ++c) {
    EXPECT_NEAR(often[static_cast<double>(c)], expected[static_cast<size_t>(c)], 0.04) << c;
  }
  EXPECT_EQ(Outputs(node, {{3}}), Outputs(node, {{3}}));
  EXPECT_NE(Outputs(node, {{3}}), Outputs(node, {{4}}));
}

// As TensorFlow's sampled_softmax_loss, term by term; sample 7 is the label of the second row.
TEST(SampledCrossEntropy, IsTheDefinition) {
  constexpr double kDraws = 11, kClasses = 20;
  const TensorType own{DType::kF32, {2}}, i32{DType::kI32, {2}};
  const LocalNode node = WholeNode("sampled_cross_entropy", {{"classes", int64_t{20}}},
                                   {own, TensorType{DType::kF32, {2, 2}}, i32, i32, TensorType{DType::kI32, {}}, own});
  const auto corrected = [](double logit, double c) {
    const double p = std::log((c + 2) / (c + 1)) / std::log(kClasses + 1);
    return logit - std::log(1 - std::pow(1 - p, kDraws));
  };
  const double first = std::exp(corrected(0.5, 3)), second = std::exp(corrected(-0.25, 7));
  const double of_first = first + std::exp(corrected(1, 0)) + std::exp(corrected(0.75, 7));
  const double of_second = second + std::exp(corrected(-1, 0));
  const double loss = (0.5 * -std::log(first / of_first) + 2 * -std::log(second / of_second)) / 2;
  for (const std::string& family : Families("sampled_cross_entropy")) {
    EXPECT_NEAR(
        Outputs(node, {{0.5, -0.25}, {1, 0.75, -1, 3}, {3, 7}, {0, 7}, {kDraws}, {0.5, 2}}, {.family = family})[0][0],
        loss, 1e-6)
        << family;
  }
}

}  // namespace
}  // namespace partita
