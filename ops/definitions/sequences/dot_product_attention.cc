// Scaled dot-product attention (Vaswani et al. 2017), with keys and values that groups of heads share (Ainslie et al.
// 2023): the mean of the values of a sample by the softmax of its scores, for each query and head.
//
//   scaled_dot_product_attention(query, keys, values, lengths?, bias?) scale causal dropout_rate -> output
// is what a user writes. query [n,q,h,d], keys [n,k,g,d] and values [n,k,g,c] give output [n,q,h,c]. Group j of keys
// and values serves heads j h/g to (j+1) h/g - 1. The score of a query and a key is scale times the sum over d of their
// product, plus the bias; a scale of 0 stands for 1 / sqrt(d), and bias broadcasts to [n,h,q,k]. With `causal` query i
// sees keys 0 to i. Of sample i only the first lengths[i] keys are seen, and none whose bias is -infinity; of a query
// that sees none the output is 0. In training each probability is dropped with probability dropout_rate, and those that
// are kept are divided by 1 - dropout_rate, as `dropout` does it (ops/definitions/dropout.cc), by their index in
// [n,h,q,k]. A node is
//   output, lse = scaled_dot_product_attention_forward(the same)
// which also gives the logarithm of the sum of exponentials of each query's scores, lse [n,h,q], f32 for bf16 (0 where
// no key is seen). The gradient recomputes probabilities from it; no gradient arrives there. The q k probabilities of a
// head never lie in memory.
//
//   scaled_dot_product_attention_grad(doutput, output, lse, query, keys, values, lengths?, bias?, iteration?)
//   -> dquery, dkeys, dvalues
//   scaled_dot_product_attention_bias_grad(the same) -> dbias
// which have the attributes of the node. With p = e^(score - lse), dp = doutput values^T, 0 where p was dropped, and D
// = sum over c of doutput output, the gradient of a score is p (dp - D), and that of the bias the sum over all scores
// that it is added to.
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

// Query, keys, values, lengths, bias and iteration are inputs `query` and those behind it.
struct Inputs {
  size_t query;

  size_t lengths() const { return query + In::kLengths; }
  size_t bias() const { return query + In::kBias; }
  size_t iteration() const { return query + In::kIteration; }
  const Shape& Query(const NodeView& node) const { return node.inputs[query]->shape; }
  const Shape& Keys(const NodeView& node) const { return node.inputs[query + In::kKeys]->shape; }
  const Shape& Values(const NodeView& node) const { return node.inputs[query + In::kValues]->shape; }
  // How a split by heads cuts what has heads, in dimension `dimension`, and what has groups.
  Pattern Heads(const NodeView& node, int dimension) const {
    const int64_t groups = Keys(node)[2];
    return S(dimension, groups == 1 ? 1 : Query(node)[2] / groups);
  }
  Pattern Groups(const NodeView& node) const { return Keys(node)[2] == 1 ? R() : S(2); }
  // How the bias is cut where dimension `dimension` of [n,h,q,k] is: not at all if it is the same along it.
  Pattern Bias(const NodeView& node, int dimension, int64_t unit = 1) const {
    if (node.inputs[bias()] == nullptr) return R();
    const Shape& shape = node.inputs[bias()]->shape;
    const int own = dimension - 4 + static_cast<int>(shape.size());
    return own < 0 || shape[own] == 1 ? R() : S(own, unit);
  }
  Pattern BiasOfHeads(const NodeView& node) const { return Bias(node, 1, Heads(node, 1).unit); }
};

constexpr Inputs kForward{In::kQuery}, kBackward{Grad::kQuery};

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
  if (node.inputs[in.lengths()] == nullptr) return absl::OkStatus();
  const int lengths = static_cast<int>(in.lengths());
  RETURN_IF_ERROR(CheckDType(node, lengths, "lengths", DType::kI32));
  return CheckShape(node, lengths, "lengths", {in.Query(node)[0]}, "one for each sample");
}

absl::Status CheckBias(const NodeView& node, const Inputs& in) {
  if (node.inputs[in.bias()] == nullptr) return absl::OkStatus();
  const int bias = static_cast<int>(in.bias());
  RETURN_IF_ERROR(CheckDType(node, bias, "bias", AccumulatorOf(node.inputs[in.query]->dtype)));
  const Shape &query = in.Query(node), &shape = node.inputs[in.bias()]->shape;
  const Shape scores = {query[0], query[2], query[1], in.Keys(node)[1]};
  bool fits = shape.size() <= scores.size();
  for (size_t d = 0; fits && d < shape.size(); ++d) {
    fits = shape[d] == 1 || shape[d] == scores[d + scores.size() - shape.size()];
  }
  if (fits) return absl::OkStatus();
  return InvalidArgument("input bias has shape {}; one that broadcasts to {} is needed ([n,heads,q,k])",
                         ToString(shape), ToString(scores));
}

absl::Status CheckDropout(const NodeView& node, const Inputs& in) {
  RETURN_IF_ERROR(CheckNumber(node.attributes, "dropout_rate", 0, 1));
  RETURN_IF_ERROR(CheckAtLeast(node.attributes, "first_sample", 0));
  if (node.inputs[in.iteration()] == nullptr) return absl::OkStatus();
  const int iteration = static_cast<int>(in.iteration());
  RETURN_IF_ERROR(CheckDType(node, iteration, "iteration", DType::kI32));
  return CheckShape(node, iteration, "iteration", {}, "the step's number");
}

absl::Status CheckInputs(const NodeView& node, const Inputs& in) {
  RETURN_IF_ERROR(CheckOperands(node, in));
  RETURN_IF_ERROR(CheckMask(node, in));
  RETURN_IF_ERROR(CheckBias(node, in));
  return CheckDropout(node, in);
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
  RETURN_IF_ERROR(CheckInputs(node, kForward));
  return std::vector<TensorType>{OutputOf(node, kForward), LseOf(node, kForward)};
}

absl::StatusOr<std::vector<TensorType>> AttentionShape(const NodeView& node) {
  ASSIGN_OR_RETURN(std::vector<TensorType> outputs, ForwardShape(node));
  outputs.resize(1);
  return outputs;
}

absl::Status CheckGradInputs(const NodeView& node) {
  RETURN_IF_ERROR(CheckInputs(node, kBackward));
  const TensorType output = OutputOf(node, kBackward), lse = LseOf(node, kBackward);
  RETURN_IF_ERROR(CheckDType(node, Grad::kDoutput, "doutput", output.dtype));
  RETURN_IF_ERROR(CheckShape(node, Grad::kDoutput, "doutput", output.shape, "[n,q,heads,c] of query and values"));
  RETURN_IF_ERROR(CheckLike(node, Grad::kOutput, "output", output.shape, "the same as doutput"));
  RETURN_IF_ERROR(CheckDType(node, Grad::kLse, "lse", lse.dtype));
  return CheckShape(node, Grad::kLse, "lse", lse.shape, "[n,heads,q] of the query");
}

absl::StatusOr<std::vector<TensorType>> GradShape(const NodeView& node) {
  RETURN_IF_ERROR(CheckGradInputs(node));
  return std::vector<TensorType>{*node.inputs[Grad::kQuery], *node.inputs[Grad::kKeys], *node.inputs[Grad::kValues]};
}

absl::StatusOr<std::vector<TensorType>> BiasGradShape(const NodeView& node) {
  RETURN_IF_ERROR(CheckGradInputs(node));
  if (node.inputs[Grad::kBias] == nullptr) return InvalidArgument("input bias is missing");
  return std::vector<TensorType>{*node.inputs[Grad::kBias]};
}

// The first `outputs` of output and lse.
RulesFunction ForwardRules(size_t outputs) {
  return [outputs](const NodeView& node) {
    const Pattern heads = kForward.Heads(node, 2), groups = kForward.Groups(node);
    const Pattern of_samples = kForward.Bias(node, 0), of_heads = kForward.BiasOfHeads(node);
    std::vector<Rule> rules = {{"samples", {S(0), S(0), S(0), S(0), of_samples, R()}, {S(0), S(0)}},
                               {"heads", {heads, groups, groups, R(), of_heads, R()}, {heads, kForward.Heads(node, 1)}},
                               {"dimension1", {S(1), R(), R(), R(), kForward.Bias(node, 2), R()}, {S(1), S(2)}},
                               {"channels", {R(), R(), S(3), R(), R(), R()}, {S(3), R()}}};
    for (Rule& rule : rules) rule.outputs.resize(outputs);
    return rules;
  };
}

// What is cut like its operand, or a sum where that is whole.
Pattern OfOperand(const Pattern& operand) { return operand.kind == AxisLayout::Kind::kSplit ? operand : P(); }

std::vector<Rule> GradRules(const NodeView& node) {
  const Pattern heads = kBackward.Heads(node, 2), of_lse = kBackward.Heads(node, 1), groups = kBackward.Groups(node);
  const Pattern of_samples = kBackward.Bias(node, 0), of_heads = kBackward.BiasOfHeads(node);
  const Pattern of_queries = kBackward.Bias(node, 2);
  return {{"samples", {S(0), S(0), S(0), S(0), S(0), S(0), S(0), of_samples, R()}, {S(0), S(0), S(0)}},
          {"heads",
           {heads, heads, of_lse, heads, groups, groups, R(), of_heads, R()},
           {heads, OfOperand(groups), OfOperand(groups)}},
          {"dimension1", {S(1), S(1), S(2), S(1), R(), R(), R(), of_queries, R()}, {S(1), P(), P()}},
          {"channels", {S(3), S(3), R(), R(), R(), S(3), R(), R(), R()}, {P(), P(), S(3)}},
          {"partial", {P(), R(), R(), R(), R(), R(), R(), R(), R()}, {P(), P(), P()}}};
}

std::vector<Rule> BiasGradRules(const NodeView& node) {
  std::vector<Rule> rules = GradRules(node);
  for (Rule& rule : rules) rule.outputs = {OfOperand(rule.inputs[Grad::kBias])};
  return rules;
}

absl::StatusOr<std::vector<ValueId>> AsForward(EntryBuilder& builder, const Node& node, const std::string& name,
                                               const Attributes& attributes, ValueId iteration) {
  std::vector<ValueId> inputs = node.inputs;
  inputs[In::kIteration] = iteration;
  ASSIGN_OR_RETURN(std::vector<ValueId> outputs, builder.Add("scaled_dot_product_attention_forward", std::move(inputs),
                                                             attributes, {name, name + "@lse"}));
  outputs.resize(1);
  return outputs;
}

absl::StatusOr<std::vector<ValueId>> InTraining(EntryBuilder& builder, const Node& node, const std::string& name) {
  if (node.attributes.Float("dropout_rate") == 0) return AsForward(builder, node, name, node.attributes, kNoValue);
  Attributes attributes = node.attributes;
  attributes.Set("key", name);
  return AsForward(builder, node, name, attributes, builder.iteration());
}

absl::StatusOr<std::vector<ValueId>> InEvaluation(EntryBuilder& builder, const Node& node, const std::string& name) {
  Attributes attributes = node.attributes;
  attributes.Set("dropout_rate", 0.0);
  return AsForward(builder, node, name, attributes, kNoValue);
}

absl::StatusOr<std::vector<ValueId>> ForwardGradient(GradientBuilder& builder, const Node& node,
                                                     const std::vector<ValueId>& cotangents,
                                                     const std::vector<bool>& wanted) {
  std::vector<ValueId> result(node.inputs.size(), kNoValue);
  const ValueId doutput = cotangents[In::kOutput];
  if (doutput == kNoValue) return result;
  std::vector<ValueId> inputs = {doutput, node.outputs[In::kOutput], node.outputs[In::kLse]};
  inputs.insert(inputs.end(), node.inputs.begin(), node.inputs.end());
  Attributes attributes = node.attributes;
  const bool drops = attributes.Float("dropout_rate") > 0;
  if (drops && attributes.String("key").empty()) attributes.Set("key", builder.graph().value(node.outputs[0]).name);
  if (wanted[In::kBias] && node.inputs[In::kBias] != kNoValue) {
    ASSIGN_OR_RETURN(result[In::kBias], AddOne(builder, "scaled_dot_product_attention_bias_grad", inputs, attributes,
                                               InputName(builder, node, In::kBias)));
  }
  if (!wanted[In::kQuery] && !wanted[In::kKeys] && !wanted[In::kValues]) return result;
  ASSIGN_OR_RETURN(const std::vector<ValueId> back, builder.Add("scaled_dot_product_attention_grad", inputs, attributes,
                                                                InputName(builder, node, In::kQuery)));
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

Op OnScores(const std::string& name) {
  return Op(name)
      .Attribute("scale", 0.0)
      .Attribute("causal", false)
      .Attribute("dropout_rate", 0.0)
      .Attribute("key", "")
      .Attribute("first_sample", int64_t{0});
}

Op Attention(const std::string& name) {
  return OnScores(name)
      .Inputs({"query", "keys", "values"})
      .Optional("lengths")
      .Optional("bias")
      .Optional("iteration")
      .Wide({"bias"})
      .Computes(Precision::kNarrow)
      .Flops(Cost(kForward, 1, 1));
}

Op AttentionGrad(const std::string& name) {
  return OnScores(name)
      .Internal()
      .Inputs({"doutput", "output", "lse", "query", "keys", "values"})
      .Optional("lengths")
      .Optional("bias")
      .Optional("iteration")
      .Wide({"lse", "bias"});
}

}  // namespace

OpDefinition ScaledDotProductAttentionOp() {
  return Attention("scaled_dot_product_attention")
      .Shape(AttentionShape)
      .Rules(ForwardRules(1))
      .InTraining(InTraining)
      .InEvaluation(InEvaluation);
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
  return AttentionGrad("scaled_dot_product_attention_grad")
      .Outputs(3)
      .Shape(GradShape)
      .Rules(GradRules)
      .Flops(Cost(kBackward, 3, 2));
}

OpDefinition ScaledDotProductAttentionBiasGradOp() {
  return AttentionGrad("scaled_dot_product_attention_bias_grad")
      .Shape(BiasGradShape)
      .Rules(BiasGradRules)
      .Flops(Cost(kBackward, 1, 1));
}

}  // namespace partita
