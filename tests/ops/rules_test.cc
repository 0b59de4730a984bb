// What must hold for the rules of every op: dimensions exist, the splits of one rule have the same number of units, and
// carried partial sums stay linear.
#include <gtest/gtest.h>

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "ops/registry.h"
#include "tests/ops/op_cases.h"

namespace partita {
namespace {

using Kind = AxisLayout::Kind;

struct Side {
  const Pattern* pattern;
  const Shape* shape;
};

// Every pattern of a rule with the shape it lies on; absent inputs are left out.
std::vector<Side> Sides(const Rule& rule, const NodeView& view) {
  std::vector<Side> sides;
  for (size_t i = 0; i < rule.inputs.size(); ++i) {
    if (view.inputs[i] != nullptr) sides.push_back({&rule.inputs[i], &view.inputs[i]->shape});
  }
  for (size_t i = 0; i < rule.outputs.size(); ++i) sides.push_back({&rule.outputs[i], &view.outputs[i].shape});
  return sides;
}

class EveryCase : public testing::TestWithParam<OpCase> {};

TEST_P(EveryCase, RulesListEveryInputAndOutput) {
  const NodeView view = ViewOf(GetParam());
  for (const Rule& rule : Ops().Find(GetParam().op)->rules(view)) {
    EXPECT_EQ(rule.inputs.size(), view.inputs.size()) << rule.name;
    EXPECT_EQ(rule.outputs.size(), view.outputs.size()) << rule.name;
    EXPECT_FALSE(rule.name.empty());
  }
}

TEST_P(EveryCase, SplitsOfOneRuleHaveTheSameUnits) {
  const NodeView view = ViewOf(GetParam());
  for (const Rule& rule : Ops().Find(GetParam().op)->rules(view)) {
    std::set<int64_t> units;
    for (const Side& side : Sides(rule, view)) {
      if (side.pattern->kind != Kind::kSplit) continue;
      ASSERT_GE(side.pattern->dimension, 0) << rule.name;
      ASSERT_LT(side.pattern->dimension, static_cast<int>(side.shape->size())) << rule.name;
      ASSERT_GE(side.pattern->unit, 1) << rule.name;
      const int64_t size = (*side.shape)[side.pattern->dimension];
      EXPECT_EQ(size % side.pattern->unit, 0) << rule.name;
      units.insert(side.pattern->windows ? side.pattern->windows->count : size / side.pattern->unit);
    }
    EXPECT_LE(units.size(), 1u) << rule.name;
  }
}

// So over several axes the blocks of a dimension are those of one rule (graph/verify/verify_operands.h).
TEST_P(EveryCase, NoTwoRulesSplitOneDimension) {
  const NodeView view = ViewOf(GetParam());
  std::set<std::pair<size_t, int>> split;  // (value, dimension)
  for (const Rule& rule : Ops().Find(GetParam().op)->rules(view)) {
    const std::vector<Side> sides = Sides(rule, view);
    for (size_t i = 0; i < sides.size(); ++i) {
      if (sides[i].pattern->kind != Kind::kSplit) continue;
      EXPECT_TRUE(split.insert({i, sides[i].pattern->dimension}).second) << rule.name;
    }
  }
}

TEST_P(EveryCase, OnlyTheRulePartialTakesPartialInputs) {
  const NodeView view = ViewOf(GetParam());
  for (const Rule& rule : Ops().Find(GetParam().op)->rules(view)) {
    size_t partial_inputs = 0;
    bool splits = false;
    for (const Pattern& pattern : rule.inputs) {
      partial_inputs += pattern.kind == Kind::kPartial;
      splits |= pattern.kind == Kind::kSplit;
      EXPECT_NE(pattern.kind, Kind::kAt);
    }
    EXPECT_EQ(rule.name == "partial", partial_inputs > 0);
    if (partial_inputs == 0) continue;
    EXPECT_FALSE(splits);
    for (const Pattern& pattern : rule.outputs) EXPECT_EQ(pattern.kind, Kind::kPartial);
  }
}

TEST_P(EveryCase, NamesOfSplitsAreUnique) {
  std::set<std::string> names;
  for (const Rule& rule : Ops().Find(GetParam().op)->rules(ViewOf(GetParam()))) {
    if (rule.name == "partial") continue;
    EXPECT_TRUE(names.insert(rule.name).second) << rule.name;
  }
}

TEST_P(EveryCase, InPlacePairsHaveTheSameType) {
  const NodeView view = ViewOf(GetParam());
  const OpDefinition& op = *Ops().Find(GetParam().op);
  for (const auto& [input, output] : op.in_place) {
    if (input >= static_cast<int>(op.inputs.size())) {  // of a node that is launched with it
      EXPECT_EQ(op.role, Role::kAllFinite);
      continue;
    }
    ASSERT_LT(input, static_cast<int>(view.inputs.size()));
    ASSERT_NE(view.inputs[input], nullptr);
    EXPECT_EQ(*view.inputs[input], view.outputs.at(output));
  }
}

TEST_P(EveryCase, FlopsAreFinite) {
  const double flops = Ops().Find(GetParam().op)->flops(ViewOf(GetParam()));
  EXPECT_GE(flops, 0);
  EXPECT_LT(flops, 1e9);
}

TEST_P(EveryCase, IsTheSameInF32) {
  const NodeView wide = ViewOf(GetParam());
  const OpCase narrow_case = InF32(GetParam());
  const NodeView narrow = ViewOf(narrow_case);
  for (size_t i = 0; i < wide.outputs.size(); ++i) EXPECT_EQ(wide.outputs[i].shape, narrow.outputs[i].shape);
}

std::string CaseName(const testing::TestParamInfo<OpCase>& info) {
  std::string name = info.param.name;
  for (char& c : name) c = std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
  return name;
}

INSTANTIATE_TEST_SUITE_P(Ops, EveryCase, testing::ValuesIn(KernelCases()), CaseName);

std::vector<std::string> RuleTexts(const std::string& op, const Attributes& attributes,
                                   const std::vector<std::optional<TensorType>>& inputs) {
  OpCase op_case{op, op, *CompleteAttributes(*Ops().Find(op), attributes), {}};
  for (const auto& input : inputs) {
    op_case.inputs.push_back(input.has_value() ? std::optional(CaseInput{*input}) : std::nullopt);
  }
  const NodeView view = ViewOf(op_case);
  const auto text = [](const Pattern& p) {
    if (p.kind == Kind::kReplicate) return std::string("R");
    if (p.kind == Kind::kPartial) return std::string(p.reduction == Reduction::kMax ? "P(max)" : "P");
    if (p.windows) return "S" + std::to_string(p.dimension) + "(" + ToString(*p.windows) + ")";
    return "S" + std::to_string(p.dimension) + (p.unit == 1 ? "" : "/" + std::to_string(p.unit));
  };
  std::vector<std::string> texts;
  for (const Rule& rule : Ops().Find(op)->rules(view)) {
    std::string line = rule.name + ":";
    for (const Pattern& pattern : rule.inputs) line += " " + text(pattern);
    line += " ->";
    for (const Pattern& pattern : rule.outputs) line += " " + text(pattern);
    texts.push_back(line);
  }
  return texts;
}

using Texts = std::vector<std::string>;
TensorType F(Shape shape) { return {DType::kF32, std::move(shape)}; }

TEST(Rules, MatMul) {
  EXPECT_EQ(RuleTexts("matmul", {}, {F({4, 6}), F({6, 8})}),
            (Texts{"samples: S0 R -> S0", "output_channels: R S1 -> S1", "input_channels: S1 S0 -> P",
                   "partial: P R -> P", "partial: R P -> P"}));
  EXPECT_EQ(RuleTexts("matmul", {{"transpose_x", true}, {"transpose_w", true}}, {F({6, 4}), F({8, 6})}),
            (Texts{"samples: S1 R -> S0", "output_channels: R S0 -> S1", "input_channels: S0 S1 -> P",
                   "partial: P R -> P", "partial: R P -> P"}));
}

TEST(Rules, MatMulOfASequenceSplitsItsPlaces) {
  EXPECT_EQ(RuleTexts("matmul", {}, {F({4, 5, 6}), F({6, 8})}),
            (Texts{"samples: S0 R -> S0", "output_channels: R S1 -> S2", "input_channels: S2 S0 -> P",
                   "dimension1: S1 R -> S1", "partial: P R -> P", "partial: R P -> P"}));
  EXPECT_EQ(RuleTexts("matmul", {{"transpose_x", true}}, {F({4, 5, 6}), F({4, 5, 8})}),
            (Texts{"samples: S2 R -> S0", "output_channels: R S2 -> S1", "input_channels: S0 S0 -> P",
                   "dimension1: S1 S1 -> P", "partial: P R -> P", "partial: R P -> P"}));
}

// Every leading dimension splits both operands.
TEST(Rules, BatchMatMul) {
  EXPECT_EQ(RuleTexts("batch_matmul", {}, {F({4, 5, 6}), F({4, 6, 8})}),
            (Texts{"samples: S0 S0 -> S0", "dimension1: S1 R -> S1", "output_channels: R S2 -> S2",
                   "input_channels: S2 S1 -> P", "partial: P R -> P", "partial: R P -> P"}));
  EXPECT_EQ(
      RuleTexts("batch_matmul", {{"transpose_x", true}, {"transpose_y", true}}, {F({4, 3, 6, 5}), F({4, 3, 8, 6})}),
      (Texts{"samples: S0 S0 -> S0", "height: S1 S1 -> S1", "width: S3 R -> S2", "output_channels: R S2 -> S3",
             "input_channels: S2 S3 -> P", "partial: P R -> P", "partial: R P -> P"}));
}

// Where one matrix serves all products of a dimension, that is not split in the operand.
TEST(Rules, BatchMatMulOfSharedMatrices) {
  EXPECT_EQ(RuleTexts("batch_matmul", {}, {F({4, 3, 5, 6}), F({4, 1, 6, 8})})[1], "height: S1 R -> S1");
  EXPECT_EQ(RuleTexts("batch_matmul", {{"transpose_x", true}}, {F({3, 6, 5}), F({4, 3, 6, 8})}),
            (Texts{"samples: R S0 -> S0", "height: S0 S1 -> S1", "width: S2 R -> S2", "output_channels: R S3 -> S3",
                   "input_channels: S1 S2 -> P", "partial: P R -> P", "partial: R P -> P"}));
}

// No sums: relu of a sum is not the sum of relus, and a bias is added once.
TEST(Rules, AnEpilogueFollowsAWholeProduct) {
  EXPECT_EQ(RuleTexts("matmul_epilogue", {{"activation", "relu"}}, {F({4, 6}), F({6, 8}), F({8})}),
            (Texts{"samples: S0 R R -> S0", "output_channels: R S1 S0 -> S1"}));
  EXPECT_EQ(RuleTexts("conv2d_epilogue", {}, {F({4, 5, 5, 4}), F({6, 3, 3, 4}), F({6})}),
            (Texts{"samples: S0 R R -> S0", "output_channels: R S0 S0 -> S3", "height: S1(3x3/1-0) R R -> S1",
                   "width: S2(3x3/1-0) R R -> S2"}));
}

// What is only made wide is linear still.
TEST(Rules, AWideProductAloneMayBeOfSummands) {
  EXPECT_EQ(RuleTexts("matmul_epilogue", {{"wide", true}, {"transpose_x", true}}, {F({6, 4}), F({6, 8}), std::nullopt}),
            (Texts{"samples: S1 R R -> S0", "output_channels: R S1 R -> S1", "input_channels: S0 S0 R -> P",
                   "partial: P R R -> P", "partial: R P R -> P"}));
}

// Sums of rows are parts where the rows are, and lie as the channels do.
TEST(Rules, ABiasGradientIsSplitAsItsOperandIs) {
  EXPECT_EQ(RuleTexts("matmul_bias_grad", {{"transpose_x", true}}, {F({6, 4}), F({6, 8})}),
            (Texts{"samples: S1 R -> S0 R", "output_channels: R S1 -> S1 S0", "input_channels: S0 S0 -> P P"}));
  EXPECT_EQ(RuleTexts("matmul_bias_grad", {{"transpose_x", true}, {"transpose_w", true}, {"bias_of", std::string("x")}},
                      {F({6, 4}), F({8, 6})}),
            (Texts{"samples: S1 R -> S0 S0", "output_channels: R S0 -> S1 R", "input_channels: S0 S1 -> P P"}));
}

// The channels of a row share bytes of the mask; summands of a product are cleared by the same one.
TEST(Rules, AMaskOfAReluIsSplitByRowsAlone) {
  EXPECT_EQ(RuleTexts("matmul_relu_mask", {}, {F({4, 6}), F({6, 8}), F({8})}), (Texts{"samples: S0 R R -> S0 S0"}));
  EXPECT_EQ(
      RuleTexts("matmul_relu_grad", {{"transpose_w", true}}, {F({4, 6}), F({8, 6}), TensorType{DType::kU8, {4, 16}}}),
      (Texts{"samples: S0 R S0 -> S0", "input_channels: S1 S1 R -> P", "partial: P R R -> P", "partial: R P R -> P"}));
}

// Channels are cut between groups, so that a rank has all input channels of its output channels.
TEST(Rules, ConvolutionWithGroupsSplitsWholeGroups) {
  Attributes attributes = {{"groups", int64_t{2}}};
  const TensorType x = F({4, 5, 5, 4}), w = F({6, 3, 3, 2}), y = F({4, 3, 3, 6});
  EXPECT_EQ(RuleTexts("conv2d", attributes, {x, w}),
            (Texts{"samples: S0 R -> S0", "output_channels: S3/2 S0/3 -> S3/3", "height: S1(3x3/1-0) R -> S1",
                   "width: S2(3x3/1-0) R -> S2", "partial: P R -> P", "partial: R P -> P"}));
  EXPECT_EQ(RuleTexts("conv2d_epilogue", attributes, {x, w, F({6})})[1], "output_channels: S3/2 S0/3 S0/3 -> S3/3");
  attributes.Set("shape", x.shape);
  EXPECT_EQ(RuleTexts("conv2d_input_grad", attributes, {y, w})[1], "output_channels: S3/3 S0/3 -> S3/2");
  attributes.Set("shape", w.shape);
  EXPECT_EQ(RuleTexts("conv2d_weight_grad", attributes, {x, y})[1], "output_channels: S3/2 S3/3 -> S0/3");
}

TEST(Rules, ConvolutionReadsRowsAndColumnsByWindows) {
  Attributes attributes = {{"stride", IntList{2, 1}}, {"padding", IntList{1, 0, 2, 2}}, {"dilation", IntList{1, 2}}};
  const TensorType x = F({4, 8, 9, 3}), w = F({6, 3, 3, 3}), y = F({4, 4, 9, 6});
  EXPECT_EQ(
      RuleTexts("conv2d", attributes, {x, w}),
      (Texts{"samples: S0 R -> S0", "output_channels: R S0 -> S3", "input_channels: S3 S3 -> P",
             "height: S1(4x3/2-1) R -> S1", "width: S2(9x5/1-2) R -> S2", "partial: P R -> P", "partial: R P -> P"}));
  attributes.Set("shape", x.shape);
  EXPECT_EQ(RuleTexts("conv2d_input_grad", attributes, {y, w})[3], "height: S1 R -> S1(4x3/2-1,sum)");
  attributes.Set("shape", w.shape);
  EXPECT_EQ(RuleTexts("conv2d_weight_grad", attributes, {x, y})[4], "width: S2(9x5/1-2) S2 -> P");
}

TEST(Rules, ASumOfInputGradientsHasNoOutputChannelsToSplit) {
  EXPECT_EQ(RuleTexts("conv2d_input_grad_sum", {{"shape", IntList{4, 5, 5, 3}}},
                      {F({4, 5, 5, 6}), F({6, 1, 1, 3}), F({4, 5, 5, 2}), F({2, 1, 1, 3})}),
            (Texts{"samples: S0 R S0 R -> S0", "input_channels: R S3 R S3 -> S3", "height: S1 R S1 R -> S1",
                   "width: S2 R S2 R -> S2", "partial: P R P R -> P", "partial: R P R P -> P"}));
}

TEST(Rules, ConvolutionOfSinglePixelsNeedsNoWindows) {
  EXPECT_EQ(RuleTexts("conv2d", {}, {F({4, 5, 5, 4}), F({6, 1, 1, 4})})[3], "height: S1 R -> S1");
  EXPECT_EQ(RuleTexts("conv2d", {{"stride", IntList{2, 2}}}, {F({4, 5, 5, 4}), F({6, 1, 1, 4})})[3],
            "height: S1(3x1/2-0) R -> S1");
}

TEST(Rules, MarginsThatDoNotFitAreNoRule) {
  const IntList far = {int64_t{1} << 58, 0, 0, 0};
  const Attributes attributes = {{"padding", far}, {"stride", IntList{int64_t{1} << 57, 1}}};
  EXPECT_EQ(RuleTexts("conv2d", attributes, {F({4, 5, 5, 4}), F({6, 3, 3, 4})})[3], "width: S2(3x3/1-0) R -> S2");
}

TEST(Rules, PoolingEndsWithTheImage) {
  const Attributes attributes = {
      {"kernel", IntList{3, 2}}, {"stride", IntList{1, 2}}, {"padding", IntList{1, 1, 0, 0}}};
  const TensorType x = F({4, 6, 8, 3}), y = F({4, 6, 4, 3});
  EXPECT_EQ(RuleTexts("max_pool", attributes, {x}),
            (Texts{"samples: S0 -> S0", "channels: S3 -> S3", "height: S1(6x3/1-1,clipped) -> S1",
                   "width: S2(4x2/2-0,clipped) -> S2"}));
  EXPECT_EQ(RuleTexts("max_pool_grad", attributes, {x, y, y})[2],
            "height: S1(6x3/1-1,clipped) S1 S1 -> S1(6x3/1-1,clipped,sum)");
}

TEST(Rules, ReshapeMergesLeadingDimensionsInUnits) {
  const Attributes merge = {{"shape", IntList{15, 7}}};
  EXPECT_EQ(RuleTexts("reshape", merge, {F({3, 5, 7})}),
            (Texts{"samples: S0 -> S0/5", "channels: S2 -> S1", "partial: P -> P"}));
  const Attributes rows = {{"shape", IntList{4, 9, 5}}};
  EXPECT_EQ(RuleTexts("reshape", rows, {F({6, 6, 5})}),
            (Texts{"samples: S0/3 -> S0/2", "channels: S2 -> S2", "partial: P -> P"}));
  const Attributes ones = {{"shape", IntList{5, 4}}};
  EXPECT_EQ(RuleTexts("reshape", ones, {F({5, 1, 1, 4})}),
            (Texts{"samples: S0 -> S0", "channels: S3 -> S1", "partial: P -> P"}));
}

TEST(Rules, BatchStatisticsAreCutBetweenGroupsOnly) {
  EXPECT_EQ(RuleTexts("batch_norm_statistics", {}, {F({6, 2, 2, 3}), F({3})}),
            (Texts{"samples: S0 R -> P", "height: S1 R -> P", "width: S2 R -> P", "channels: S3 S0 -> S2"}));
  EXPECT_EQ(RuleTexts("batch_norm_statistics", {{"samples", int64_t{3}}}, {F({6, 2, 2, 3}), F({3})}),
            (Texts{"samples: S0/3 R -> S0", "height: S1 R -> P", "width: S2 R -> P", "channels: S3 S0 -> S2"}));
  EXPECT_EQ(RuleTexts("batch_norm_statistics", {{"samples", int64_t{1}}}, {F({6, 2, 2, 3}), F({3})})[0],
            "samples: S0 R -> S0");
}

TEST(Rules, BatchNormSumsOfGroups) {
  const std::vector<std::optional<TensorType>> inputs = {F({6, 4}), F({6, 4}), TensorType{DType::kF64, {2, 2, 4}},
                                                         F({4}),    F({4}),    F({4})};
  EXPECT_EQ(RuleTexts("batch_norm_gradient_sums", {{"samples", int64_t{3}}}, inputs),
            (Texts{"samples: S0/3 S0/3 S0 R R R -> S0 P P", "channels: S1 S1 S2 S0 S0 S0 -> S2 S0 S0"}));
}

// What a residual network adds, and what its relu lets through, is split like the elements of x.
TEST(Rules, ResidualsFollowTheBatchNorm) {
  const TensorType stats{DType::kF64, {2, 2, 4}}, v = F({4});
  EXPECT_EQ(RuleTexts("batch_norm_normalize_add", {{"samples", int64_t{3}}}, {F({6, 4}), stats, v, v, v, F({6, 4})}),
            (Texts{"samples: S0/3 S0 R R R S0/3 -> S0/3", "channels: S1 S2 S0 S0 S0 S1 -> S1"}));
  EXPECT_EQ(RuleTexts("batch_norm_forward_add", {}, {F({6, 4}), v, v, v, F({6, 4})}),
            (Texts{"channels: S1 S0 S0 S0 S1 -> S1 S2"}));
  const std::vector<std::optional<TensorType>> behind_relu = {F({6, 4}), F({6, 4}), stats, v, v, v, F({6, 4})};
  EXPECT_EQ(
      RuleTexts("batch_norm_gradient_sums_relu", {{"samples", int64_t{3}}}, behind_relu),
      (Texts{"samples: S0/3 S0/3 S0 R R R S0/3 -> S0 P P S0/3", "channels: S1 S1 S2 S0 S0 S0 S1 -> S2 S0 S0 S1"}));
  EXPECT_EQ(
      RuleTexts("batch_norm_backward_relu", {{"samples", int64_t{3}}}, behind_relu),
      (Texts{"samples: S0/3 S0/3 S0 R R R S0/3 -> S0/3 P P S0/3", "channels: S1 S1 S2 S0 S0 S0 S1 -> S1 S0 S0 S1"}));
}

TEST(Rules, BiasGradientBehindARelu) {
  EXPECT_EQ(RuleTexts("bias_grad_relu", {}, {F({6, 4}), F({6, 4})}),
            (Texts{"samples: S0 S0 -> P S0", "channels: S1 S1 -> S0 S1"}));
}

// A block of rows alone has no statistics.
TEST(Rules, BatchNormAtOnceCutsNoGroup) {
  const std::vector<std::optional<TensorType>> forward = {F({6, 2, 2, 3}), F({3}), F({3}), F({3})};
  EXPECT_EQ(RuleTexts("batch_norm_forward", {}, forward), (Texts{"channels: S3 S0 S0 S0 -> S3 S2"}));
  EXPECT_EQ(RuleTexts("batch_norm_forward", {{"samples", int64_t{3}}}, forward),
            (Texts{"samples: S0/3 R R R -> S0/3 S0", "channels: S3 S0 S0 S0 -> S3 S2"}));
  const std::vector<std::optional<TensorType>> backward = {F({6, 4}), F({6, 4}), TensorType{DType::kF64, {2, 2, 4}},
                                                           F({4}),    F({4}),    F({4})};
  EXPECT_EQ(RuleTexts("batch_norm_backward", {{"samples", int64_t{3}}}, backward),
            (Texts{"samples: S0/3 S0/3 S0 R R R -> S0/3 P P", "channels: S1 S1 S2 S0 S0 S0 -> S1 S0 S0"}));
}

TEST(Rules, BatchNormCompositeFollowsItsGroups) {
  const std::vector<std::optional<TensorType>> inputs = {F({6, 4}), F({4}), F({4}), F({4}), F({4})};
  EXPECT_EQ(RuleTexts("batch_norm", {{"statistics_samples", int64_t{2}}}, inputs),
            (Texts{"samples: S0/2 R R R R -> S0/2", "channels: S1 S0 S0 S0 S0 -> S1"}));
}

TEST(Rules, LayerNormSplitsNoRow) {
  EXPECT_EQ(RuleTexts("layer_norm", {}, {F({6, 3, 4}), F({4}), F({4})}),
            (Texts{"samples: S0 R R -> S0", "dimension1: S1 R R -> S1"}));
  EXPECT_EQ(RuleTexts("layer_norm_parameter_grad", {}, {F({6, 4}), F({6, 4}), TensorType{DType::kF64, {6, 2}}}),
            (Texts{"samples: S0 S0 S0 -> P P"}));
}

TEST(Rules, EmbeddingIsSplitByIdsChannelsAndRows) {
  const TensorType ids{DType::kI32, {6, 3}};
  EXPECT_EQ(RuleTexts("embedding", {}, {F({9, 4}), ids}),
            (Texts{"samples: R S0 -> S0", "dimension1: R S1 -> S1", "channels: S1 R -> S2", "rows: S0 R -> P",
                   "partial: P R -> P"}));
  EXPECT_EQ(RuleTexts("embedding_grad", {{"rows", int64_t{9}}}, {F({9, 4}), ids, F({6, 3, 4})}),
            (Texts{"samples: R S0 S0 -> P", "dimension1: R S1 S1 -> P", "channels: S1 R S2 -> S1", "rows: S0 R R -> S0",
                   "partial: R R P -> P"}));
}

TEST(Rules, RowsAreMergedAndUpdatedWholeOrByChannels) {
  const TensorType ids{DType::kI32, {6}}, scalar = F({});
  EXPECT_EQ(RuleTexts("merge_rows", {{"padding_rows", IntList{-1, -1}}},
                      {ids, F({6, 4}), TensorType{DType::kI32, {6, 2}}, F({6, 2, 4})}),
            (Texts{"channels: R S1 R S2 -> R S1"}));
  EXPECT_EQ(RuleTexts("adagrad_rows", {}, {F({9, 4}), ids, F({6, 4}), F({9, 4}), scalar, std::nullopt, scalar}),
            (Texts{"dimension0: S0 R R S0 R R R -> S0 S0", "dimension1: S1 R S1 S1 R R R -> S1 S1"}));
}

// The places of a sequence follow each other, and the units see each other.
TEST(Rules, LstmSplitsItsSequences) {
  const std::optional<TensorType> no;
  const TensorType g = F({6, 2, 12}), w = F({3, 12}), h = F({6, 2, 3}), state = F({6, 3});
  const TensorType lengths{DType::kI32, {6}};
  EXPECT_EQ(RuleTexts("lstm", {}, {g, w, F({3, 3}), state, state, lengths}), (Texts{"samples: S0 R R S0 S0 S0 -> S0"}));
  EXPECT_EQ(RuleTexts("lstm_projected_steps_grad", {}, {h, g, h, h, w, no, no, no, F({3, 3})}),
            (Texts{"samples: S0 S0 S0 S0 R S0 S0 S0 R -> S0 S0 S0 S0 S0 S0"}));
}

// What all samples, queries or channels share has gradients that are sums over them.
TEST(Rules, AttentionIsSplitBySamplesQueriesAndChannels) {
  const TensorType query = F({6, 2, 4}), keys = F({6, 5, 4}), values = F({6, 5, 3}), v = F({4}), gain = F({1});
  const TensorType lengths{DType::kI32, {6}};
  EXPECT_EQ(RuleTexts("attention", {}, {query, keys, values, v, gain, v, lengths}),
            (Texts{"samples: S0 S0 S0 R R R S0 -> S0", "dimension1: S1 R R R R R R -> S1",
                   "channels: R R S2 R R R R -> S2"}));
  EXPECT_EQ(RuleTexts("attention_context", {}, {query, keys, values, v, gain, v, lengths}),
            (Texts{"samples: S0 S0 S0 R R R S0 -> S0 S0", "dimension1: S1 R R R R R R -> S1 S1",
                   "channels: R R S2 R R R R -> S2 R"}));
  EXPECT_EQ(RuleTexts("attention_context_grad", {}, {F({6, 2, 3}), F({6, 2, 5}), query, keys, values, v, gain, v}),
            (Texts{"samples: S0 S0 S0 S0 S0 R R R -> S0 S0 S0 P P P", "dimension1: S1 S1 S1 R R R R R -> S1 P P P P P",
                   "channels: S2 R R R S2 R R R -> P P S2 P P P", "partial: P R R R R R R R -> P P P P P P"}));
}

// Heads are cut where their groups are; those of a single group anywhere.
TEST(Rules, DotProductAttentionIsSplitBySamplesHeadsQueriesAndChannels) {
  const TensorType query = F({6, 2, 4, 3}), keys = F({6, 5, 2, 3}), values = F({6, 5, 2, 7}), output = F({6, 2, 4, 7});
  const TensorType lse = F({6, 4, 2}), lengths{DType::kI32, {6}}, one_keys = F({6, 5, 1, 3}), one = F({6, 5, 1, 7});
  const std::string op = "scaled_dot_product_attention";
  EXPECT_EQ(RuleTexts(op, {}, {query, keys, values, lengths, std::nullopt, std::nullopt}),
            (Texts{"samples: S0 S0 S0 S0 R R -> S0", "heads: S2/2 S2 S2 R R R -> S2/2",
                   "dimension1: S1 R R R R R -> S1", "channels: R R S3 R R R -> S3"}));
  EXPECT_EQ(RuleTexts(op + "_forward", {}, {query, keys, values, lengths, std::nullopt, std::nullopt}),
            (Texts{"samples: S0 S0 S0 S0 R R -> S0 S0", "heads: S2/2 S2 S2 R R R -> S2/2 S1/2",
                   "dimension1: S1 R R R R R -> S1 S2", "channels: R R S3 R R R -> S3 R"}));
  EXPECT_EQ(
      RuleTexts(op + "_grad", {}, {output, output, lse, query, keys, values, lengths, std::nullopt, std::nullopt}),
      (Texts{"samples: S0 S0 S0 S0 S0 S0 S0 R R -> S0 S0 S0", "heads: S2/2 S2/2 S1/2 S2/2 S2 S2 R R R -> S2/2 S2 S2",
             "dimension1: S1 S1 S2 S1 R R R R R -> S1 P P", "channels: S3 S3 R R R S3 R R R -> P P S3",
             "partial: P R R R R R R R R -> P P P"}));
  EXPECT_EQ(RuleTexts(op + "_forward", {}, {query, one_keys, one, lengths, std::nullopt, std::nullopt})[1],
            "heads: S2 R R R R R -> S2 S1");
  EXPECT_EQ(
      RuleTexts(op + "_grad", {}, {output, output, lse, query, one_keys, one, lengths, std::nullopt, std::nullopt})[1],
      "heads: S2 S2 S1 S2 R R R R R -> S2 P P");
}

// A bias is cut where it differs, and where it does not its gradient is a sum.
TEST(Rules, TheBiasOfAttentionIsCutWithTheScores) {
  const TensorType query = F({6, 2, 4, 3}), keys = F({6, 5, 2, 3}), values = F({6, 5, 2, 7}), output = F({6, 2, 4, 7});
  const TensorType lse = F({6, 4, 2}), every = F({6, 4, 2, 5}), of_places = F({2, 5}), of_keys = F({6, 1, 1, 5});
  const std::string op = "scaled_dot_product_attention";
  const auto forward = [&](const TensorType& bias) {
    return RuleTexts(op, {}, {query, keys, values, std::nullopt, bias, std::nullopt});
  };
  const auto back = [&](const TensorType& bias) {
    return RuleTexts(op + "_bias_grad", {},
                     {output, output, lse, query, keys, values, std::nullopt, bias, std::nullopt});
  };
  EXPECT_EQ(forward(every), (Texts{"samples: S0 S0 S0 S0 S0 R -> S0", "heads: S2/2 S2 S2 R S1/2 R -> S2/2",
                                   "dimension1: S1 R R R S2 R -> S1", "channels: R R S3 R R R -> S3"}));
  EXPECT_EQ(forward(of_places), (Texts{"samples: S0 S0 S0 S0 R R -> S0", "heads: S2/2 S2 S2 R R R -> S2/2",
                                       "dimension1: S1 R R R S0 R -> S1", "channels: R R S3 R R R -> S3"}));
  EXPECT_EQ(back(every),
            (Texts{"samples: S0 S0 S0 S0 S0 S0 S0 S0 R -> S0", "heads: S2/2 S2/2 S1/2 S2/2 S2 S2 R S1/2 R -> S1/2",
                   "dimension1: S1 S1 S2 S1 R R R S2 R -> S2", "channels: S3 S3 R R R S3 R R R -> P",
                   "partial: P R R R R R R R R -> P"}));
  EXPECT_EQ(back(of_keys),
            (Texts{"samples: S0 S0 S0 S0 S0 S0 S0 S0 R -> S0", "heads: S2/2 S2/2 S1/2 S2/2 S2 S2 R R R -> P",
                   "dimension1: S1 S1 S2 S1 R R R R R -> P", "channels: S3 S3 R R R S3 R R R -> P",
                   "partial: P R R R R R R R R -> P"}));
}

TEST(Rules, SampledSoftmaxIsSplitByRows) {
  const TensorType labels{DType::kI32, {6, 3}}, ids{DType::kI32, {4}}, draws{DType::kI32, {}};
  EXPECT_EQ(RuleTexts("sampled_cross_entropy", {{"classes", int64_t{9}}},
                      {F({6, 3}), F({6, 3, 4}), labels, ids, draws, F({6, 3})}),
            (Texts{"samples: S0 S0 S0 R R S0 -> P", "dimension1: S1 S1 S1 R R S1 -> P"}));
  EXPECT_EQ(RuleTexts("sampled_cross_entropy_grad", {{"classes", int64_t{9}}},
                      {F({6, 3}), F({6, 3, 4}), labels, ids, draws, F({6}), F({})}),
            (Texts{"samples: S0 S0 S0 R R S0 R -> S0 S0", "dimension1: S1 S1 S1 R R R R -> S1 S1"}));
}

TEST(Rules, TransposeMovesSplits) {
  EXPECT_EQ(RuleTexts("transpose", {{"permutation", IntList{2, 0, 1}}}, {F({6, 3, 4})}),
            (Texts{"samples: S0 -> S1", "dimension1: S1 -> S2", "channels: S2 -> S0", "partial: P -> P"}));
}

TEST(Rules, DivIsLinearInTheNumerator) {
  EXPECT_EQ(RuleTexts("div", {}, {F({6}), F({6})}), (Texts{"samples: S0 S0 -> S0", "partial: P R -> P"}));
}

TEST(Rules, LossOfSplitSamplesIsPartial) {
  EXPECT_EQ(RuleTexts("softmax_cross_entropy", {}, {F({6, 4}), TensorType{DType::kI32, {6}}, F({6})}),
            (Texts{"samples: S0 S0 S0 -> P"}));
  EXPECT_EQ(RuleTexts("softmax_cross_entropy", {}, {F({6, 5, 4}), TensorType{DType::kI32, {6, 5}}, F({6})}),
            (Texts{"samples: S0 S0 S0 -> P", "dimension1: S1 S1 R -> P"}));
}

// Of some classes the maximum and the sum are parts of those of the row.
TEST(Rules, SoftmaxInPiecesSplitsItsClasses) {
  EXPECT_EQ(RuleTexts("row_maximum", {}, {F({6, 4})}), (Texts{"samples: S0 -> S0", "classes: S1 -> P(max)"}));
  EXPECT_EQ(RuleTexts("row_exponentials", {}, {F({6, 4}), F({6})}),
            (Texts{"samples: S0 S0 -> S0", "classes: S1 R -> P"}));
  EXPECT_EQ(RuleTexts("cross_entropy", {}, {F({6, 4}), TensorType{DType::kI32, {6}}, F({6}), F({6}), F({6})}),
            (Texts{"samples: S0 S0 S0 S0 S0 -> P", "classes: S1 R R R R -> P"}));
}

TEST(Rules, LabelsOfSplitSamplesAreCountedInParts) {
  const Attributes counted = {{"ignore_index", int64_t{0}}, {"dtype", std::string("f32")}};
  EXPECT_EQ(RuleTexts("count_labels", counted, {TensorType{DType::kI32, {6, 5}}, F({6})}),
            (Texts{"samples: S0 S0 -> P", "dimension1: S1 R -> P"}));
}

TEST(Rules, ConcatAndSliceKeepTheirAxisWhole) {
  EXPECT_EQ(RuleTexts("concat", {{"axis", int64_t{1}}}, {F({6, 4}), F({6, 2})}),
            (Texts{"samples: S0 S0 -> S0", "partial: P P -> P"}));
  EXPECT_EQ(RuleTexts("slice", {{"begin", IntList{0, 1}}, {"size", IntList{6, 2}}}, {F({6, 4})}),
            (Texts{"samples: S0 -> S0", "partial: P -> P"}));
}

TEST(Rules, CastFromIntegersCarriesNoPartialSums) {
  EXPECT_EQ(RuleTexts("cast", {{"dtype", "f32"}}, {TensorType{DType::kU8, {6}}}), (Texts{"samples: S0 -> S0"}));
  EXPECT_EQ(RuleTexts("pixels", {}, {TensorType{DType::kU8, {6, 4}}}),
            (Texts{"samples: S0 -> S0", "channels: S1 -> S1"}));
  EXPECT_EQ(RuleTexts("cast", {{"dtype", "f64"}}, {F({6})}), (Texts{"samples: S0 -> S0", "partial: P -> P"}));
}

}  // namespace
}  // namespace partita
