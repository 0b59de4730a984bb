// Scaled dot-product attention (Vaswani et al. 2017), with keys and values that groups of heads share (Ainslie et al.
// 2023): the mean of the values of a sample by the softmax of its scores, for each query and head.
//
//   scaled_dot_product_attention(query, keys, values, lengths?) scale causal -> output
// is what a user writes. query [n,q,h,d], keys [n,k,g,d] and values [n,k,g,c] give output [n,q,h,c]. Group j of keys
// and values serves heads j h/g to (j+1) h/g - 1. The score of a query and a key is scale times the sum over d of their
// product; a scale of 0 stands for 1 / sqrt(d). With `causal` query i sees keys 0 to i. Of sample i only the first
// lengths[i] keys are seen; of one that has none the output is 0. A node is
//   output, lse = scaled_dot_product_attention_forward(the same)
// which also gives the logarithm of the sum of exponentials of each query's scores, lse [n,h,q], f32 for bf16 (0 where
// no key is seen). The gradient recomputes probabilities from it; no gradient arrives there. The q k probabilities of a
// head never lie in memory.
//
//   scaled_dot_product_attention_grad(doutput, output, lse, query, keys, values, lengths?) scale causal
//   -> dquery, dkeys, dvalues
// With p = e^(score - lse), dp = doutput values^T and D = sum over c of doutput output, the gradient of a score is
// p (dp - D).
//
// Samples may be split, heads, query positions ("dimension1") and channels of the values. Heads are cut between groups;
// the heads of a single group are cut anywhere, and all ranks read that group. Gradients of what several ranks read are
// sums over them.
#include "ops/definitions/sequences/sequences.h"
#include "ops/forms/op_builder.h"
#include "ops/forms/op_checks.h"
#include "ops/forms/op_rules.h"
#include "ops/values/attention_places.h"
#include "runtime/base/status.h"

namespace partita {
namespace {

using In = DotProductForward;
using Grad = DotProductGrad;

// Query, keys and values are inputs `query` and the two behind it; lengths are input `lengths`.
struct Inputs {
  size_t query, lengths;

  const Shape& Query(const NodeView& node) const { return node.inputs[query]->shape; }
  const Shape& Keys(const NodeView& node) const { return node.inputs[query + In::kKeys]->shape; }
  const Shape& Values(const NodeView& node) const { return node.inputs[query + In::kValues]->shape; }
  // How a split by heads cuts what has heads, in dimension `dimension`, and what has groups.
  Pattern Heads(const NodeView& node, int dimension) const {
    const int64_t groups = Keys(node)[2];
    return S(dimension, groups == 1 ? 1 : Query(node)[2] / groups);
  }
  Pattern Groups(const NodeView& node) const { return Keys(node)[2] == 1 ? R() : S(2); }
};

constexpr Inputs kForward{In::kQuery, In::kLengths}, kBackward{Grad::kQuery, Grad::kLengths};

absl::Status CheckOperands(const NodeView& node, const Inputs& in) {
  const auto at = [&](In::Input input) { return static_cast<int>(in.query + input); };
  RETURN_IF_ERROR(CheckFloating(node, at(In::kQuery), "query"));
  const DType dtype = node.inputs[in.query]->dtype;
  RETURN_IF_ERROR(CheckRank(node, at(In::kQuery), "query", {4}, "[n,q,heads,d]"));
  RETURN_IF_ERROR(CheckDType(node, at(In::kKeys), "keys", dtype));
  RETURN_IF_ERROR(CheckRank(node, at(In::kKeys), "keys", {4}, "[n,k,groups,d]"));
  RETURN_IF_ERROR(CheckDType(node, at(In::kValues), "values", dtype));
  RETURN_IF_ERROR(CheckRank(node, at(In::kValues), "values", {4}, "[n,k,groups,c]"));
  const Shape &query = in.Query(node), &keys = in.Keys(node), &values = in.Values(node);
  RETURN_IF_ERROR(
      CheckShape(node, at(In::kKeys), "keys", {query[0], keys[1], keys[2], query[3]}, "samples and d of the query"));
  RETURN_IF_ERROR(CheckShape(node, at(In::kValues), "values", {keys[0], keys[1], keys[2], values[3]},
                             "samples, positions and groups of the keys"));
  if (query[2] % keys[2] != 0) {
    return InvalidArgument("input keys has {} groups; a number that divides the {} heads of the query is needed",
                           keys[2], query[2]);
  }
  return absl::OkStatus();
}

absl::Status CheckMask(const NodeView& node, const Inputs& in) {
  RETURN_IF_ERROR(CheckNumber(node.attributes, "scale", -std::numeric_limits<double>::infinity()));
  const int64_t queries = in.Query(node)[1], keys = in.Keys(node)[1];
  if (node.attributes.Bool("causal") && queries > keys) {
    return InvalidArgument("input query has {} positions; at most {} are needed where causal is true, as of the keys",
                           queries, keys);
  }
  if (node.inputs[in.lengths] == nullptr) return absl::OkStatus();
  const int lengths = static_cast<int>(in.lengths);
  RETURN_IF_ERROR(CheckDType(node, lengths, "lengths", DType::kI32));
  return CheckShape(node, lengths, "lengths", {in.Query(node)[0]}, "one for each sample");
}

TensorType OutputOf(const NodeView& node, const Inputs& in) {
  const Shape& query = in.Query(node);
  return {node.inputs[in.query]->dtype, {query[0], query[1], query[2], in.Values(node)[3]}};
}

TensorType LseOf(const NodeView& node, const Inputs& in) {
  const Shape& query = in.Query(node);
  return {AccumulatorOf(node.inputs[in.query]->dtype), {query[0], query[2], query[1]}};
}

absl::StatusOr<std::vector<TensorType>> ForwardShape(const NodeView& node) {
  RETURN_IF_ERROR(CheckOperands(node, kForward));
  RETURN_IF_ERROR(CheckMask(node, kForward));
  return std::vector<TensorType>{OutputOf(node, kForward), LseOf(node, kForward)};
}

absl::StatusOr<std::vector<TensorType>> AttentionShape(const NodeView& node) {
  ASSIGN_OR_RETURN(std::vector<TensorType> outputs, ForwardShape(node));
  outputs.resize(1);
  return outputs;
}

absl::StatusOr<std::vector<TensorType>> GradShape(const NodeView& node) {
  RETURN_IF_ERROR(CheckOperands(node, kBackward));
  RETURN_IF_ERROR(CheckMask(node, kBackward));
  const TensorType output = OutputOf(node, kBackward), lse = LseOf(node, kBackward);
  RETURN_IF_ERROR(CheckDType(node, Grad::kDoutput, "doutput", output.dtype));
  RETURN_IF_ERROR(CheckShape(node, Grad::kDoutput, "doutput", output.shape, "[n,q,heads,c] of query and values"));
  RETURN_IF_ERROR(CheckLike(node, Grad::kOutput, "output", output.shape, "the same as doutput"));
  RETURN_IF_ERROR(CheckDType(node, Grad::kLse, "lse", lse.dtype));
  RETURN_IF_ERROR(CheckShape(node, Grad::kLse, "lse", lse.shape, "[n,heads,q] of the query"));
  return std::vector<TensorType>{*node.inputs[Grad::kQuery], *node.inputs[Grad::kKeys], *node.inputs[Grad::kValues]};
}

// The first `outputs` of output and lse.
RulesFunction ForwardRules(size_t outputs) {
  return [outputs](const NodeView& node) {
    const Pattern heads = kForward.Heads(node, 2), groups = kForward.Groups(node);
    std::vector<Rule> rules = {{"samples", {S(0), S(0), S(0), S(0)}, {S(0), S(0)}},
                               {"heads", {heads, groups, groups, R()}, {heads, kForward.Heads(node, 1)}},
                               {"dimension1", {S(1), R(), R(), R()}, {S(1), S(2)}},
                               {"channels", {R(), R(), S(3), R()}, {S(3), R()}}};
    for (Rule& rule : rules) rule.outputs.resize(outputs);
    return rules;
  };
}

std::vector<Rule> GradRules(const NodeView& node) {
  const Pattern heads = kBackward.Heads(node, 2), groups = kBackward.Groups(node);
  const Pattern of_groups = groups.kind == AxisLayout::Kind::kSplit ? groups : P();
  return {
      {"samples", {S(0), S(0), S(0), S(0), S(0), S(0), S(0)}, {S(0), S(0), S(0)}},
      {"heads", {heads, heads, kBackward.Heads(node, 1), heads, groups, groups, R()}, {heads, of_groups, of_groups}},
      {"dimension1", {S(1), S(1), S(2), S(1), R(), R(), R()}, {S(1), P(), P()}},
      {"channels", {S(3), S(3), R(), R(), R(), S(3), R()}, {P(), P(), S(3)}},
      {"partial", {P(), R(), R(), R(), R(), R(), R()}, {P(), P(), P()}}};
}

absl::StatusOr<std::vector<ValueId>> AsForward(EntryBuilder& builder, const Node& node, const std::string& name) {
  ASSIGN_OR_RETURN(std::vector<ValueId> outputs, builder.Add("scaled_dot_product_attention_forward", node.inputs,
                                                             node.attributes, {name, name + "@lse"}));
  outputs.resize(1);
  return outputs;
}

absl::StatusOr<std::vector<ValueId>> ForwardGradient(GradientBuilder& builder, const Node& node,
                                                     const std::vector<ValueId>& cotangents,
                                                     const std::vector<bool>& wanted) {
  std::vector<ValueId> result(node.inputs.size(), kNoValue);
  const ValueId doutput = cotangents[In::kOutput];
  if (doutput == kNoValue || std::find(wanted.begin(), wanted.end(), true) == wanted.end()) return result;
  std::vector<ValueId> inputs = {doutput, node.outputs[In::kOutput], node.outputs[In::kLse]};
  inputs.insert(inputs.end(), node.inputs.begin(), node.inputs.end());
  ASSIGN_OR_RETURN(const std::vector<ValueId> back, builder.Add("scaled_dot_product_attention_grad", inputs,
                                                                node.attributes, InputName(builder, node, In::kQuery)));
  for (size_t i = 0; i < back.size(); ++i) {
    if (wanted[i]) result[i] = back[i];
  }
  return result;
}

// `products`: of d and of c elements for each query and key. Under a causal mask about half of the pairs are seen.
FlopsFunction Cost(const Inputs& in, double of_depth, double of_channels) {
  return [=](const NodeView& node) {
    constexpr double kExponential = 20;
    const Shape& query = in.Query(node);
    const double pairs = Count({query[0], query[1], query[2], in.Keys(node)[1]});
    const double depth = static_cast<double>(query[3]), channels = static_cast<double>(in.Values(node)[3]);
    const double seen = node.attributes.Bool("causal") ? 0.5 : 1;
    return seen * pairs * (of_depth * 2 * depth + of_channels * 2 * channels + kExponential);
  };
}

Op WithMask(const std::string& name) { return Op(name).Attribute("scale", 0.0).Attribute("causal", false); }

Op Attention(const std::string& name) {
  return WithMask(name)
      .Inputs({"query", "keys", "values"})
      .Optional("lengths")
      .Computes(Precision::kNarrow)
      .Flops(Cost(kForward, 1, 1));
}

}  // namespace

OpDefinition ScaledDotProductAttentionOp() {
  return Attention("scaled_dot_product_attention")
      .Shape(AttentionShape)
      .Rules(ForwardRules(1))
      .InTraining(AsForward)
      .InEvaluation(AsForward);
}

OpDefinition ScaledDotProductAttentionForwardOp() {
  return Attention("scaled_dot_product_attention_forward")
      .Internal()
      .Outputs(2)
      .Shape(ForwardShape)
      .Rules(ForwardRules(2))
      .Gradient(ForwardGradient);
}

OpDefinition ScaledDotProductAttentionGradOp() {
  return WithMask("scaled_dot_product_attention_grad")
      .Internal()
      .Inputs({"doutput", "output", "lse", "query", "keys", "values"})
      .Optional("lengths")
      .Outputs(3)
      .Shape(GradShape)
      .Rules(GradRules)
      .Wide({"lse"})
      .Flops(Cost(kBackward, 3, 2));
}

}  // namespace partita
