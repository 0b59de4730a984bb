// Additive attention with a normalised scorer (ops/functors/attention.h): what each query of a sample reads of all its
// places.
//
//   attention(query, keys, values, v, gain, bias, lengths?) -> context
// is what a user writes. query [n,q,h] and keys [n,t,h] are products already; query i of a sample scores place k by
//   score[i,k] = sum over u of gain v[u] / |v| tanh(query[i,u] + keys[k,u] + bias[u])
// with v [h], gain [1] and bias [h]; context [n,q,c] is the mean of values [n,t,c] by the softmax of its scores. Of
// sequence i the first lengths[i] places are read; of one that has none the context is 0. A node is
//   context, probabilities = attention_context(the same)
// which also gives the softmax, [n,q,t], 0 behind a sequence's end: what the gradient reads. No gradient arrives there.
// What n q t h tanhs are is made again by the gradient; it never lies in memory.
//
//   attention_context_grad(dcontext, probabilities, query, keys, values, v, gain, bias)
//   -> dquery, dkeys, dvalues, dv, dgain, dbias
//
// Samples may be split, queries ("dimension1") and the values' channels; of queries and channels each, gradients of
// what all share are sums. Of a bf16 query, v, gain, bias and the probabilities are f32.
#include "ops/definitions/sequences/sequences.h"
#include "ops/forms/op_builder.h"
#include "ops/forms/op_checks.h"
#include "ops/forms/op_rules.h"
#include "ops/values/attention_places.h"
#include "runtime/base/status.h"

namespace partita {
namespace {

using In = AttentionContext;
using Grad = AttentionContextGrad;

// Where the inputs are that both nodes read: one behind the other, from the query on.
struct Inputs {
  size_t query;

  const TensorType& Query(const NodeView& node) const { return *node.inputs[query]; }
  const TensorType& Keys(const NodeView& node) const { return *node.inputs[query + In::kKeys]; }
  const TensorType& Values(const NodeView& node) const { return *node.inputs[query + In::kValues]; }
  int At(In::Input input) const { return static_cast<int>(query + input); }
};

constexpr Inputs kForward{In::kQuery}, kBackward{Grad::kQuery};

absl::Status CheckSequences(const NodeView& node, const Inputs& in) {
  const DType dtype = in.Query(node).dtype;
  RETURN_IF_ERROR(CheckFloating(node, in.At(In::kQuery), "query"));
  RETURN_IF_ERROR(CheckRank(node, in.At(In::kQuery), "query", {3}, "[n,q,h]"));
  RETURN_IF_ERROR(CheckDType(node, in.At(In::kKeys), "keys", dtype));
  RETURN_IF_ERROR(CheckRank(node, in.At(In::kKeys), "keys", {3}, "[n,t,h]"));
  const Shape &query = in.Query(node).shape, &keys = in.Keys(node).shape;
  RETURN_IF_ERROR(CheckShape(node, in.At(In::kKeys), "keys", {query[0], keys[1], query[2]}, "[n,t,h] of the query"));
  RETURN_IF_ERROR(CheckDType(node, in.At(In::kValues), "values", dtype));
  RETURN_IF_ERROR(CheckRank(node, in.At(In::kValues), "values", {3}, "[n,t,c]"));
  const Shape& values = in.Values(node).shape;
  return CheckShape(node, in.At(In::kValues), "values", {keys[0], keys[1], values[2]}, "the places of the keys");
}

absl::Status CheckScorer(const NodeView& node, const Inputs& in) {
  const DType wide = AccumulatorOf(in.Query(node).dtype);
  const int64_t units = in.Query(node).shape[2];
  RETURN_IF_ERROR(CheckDType(node, in.At(In::kV), "v", wide));
  RETURN_IF_ERROR(CheckShape(node, in.At(In::kV), "v", {units}, "one number for each unit of the query"));
  RETURN_IF_ERROR(CheckDType(node, in.At(In::kGain), "gain", wide));
  RETURN_IF_ERROR(CheckShape(node, in.At(In::kGain), "gain", {1}, "one number"));
  RETURN_IF_ERROR(CheckDType(node, in.At(In::kBias), "bias", wide));
  return CheckShape(node, in.At(In::kBias), "bias", {units}, "one number for each unit of the query");
}

TensorType ContextOf(const NodeView& node, const Inputs& in) {
  const TensorType &query = in.Query(node), &values = in.Values(node);
  return {query.dtype, {query.shape[0], query.shape[1], values.shape[2]}};
}

TensorType ProbabilitiesOf(const NodeView& node, const Inputs& in) {
  const TensorType &query = in.Query(node), &values = in.Values(node);
  return {AccumulatorOf(query.dtype), {query.shape[0], query.shape[1], values.shape[1]}};
}

absl::StatusOr<std::vector<TensorType>> ContextShape(const NodeView& node) {
  RETURN_IF_ERROR(CheckSequences(node, kForward));
  RETURN_IF_ERROR(CheckScorer(node, kForward));
  if (node.inputs[In::kLengths] != nullptr) {
    RETURN_IF_ERROR(CheckDType(node, In::kLengths, "lengths", DType::kI32));
    const int64_t samples = kForward.Query(node).shape[0];
    RETURN_IF_ERROR(CheckShape(node, In::kLengths, "lengths", {samples}, "one for each sequence"));
  }
  return std::vector<TensorType>{ContextOf(node, kForward), ProbabilitiesOf(node, kForward)};
}

absl::StatusOr<std::vector<TensorType>> AttentionShape(const NodeView& node) {
  ASSIGN_OR_RETURN(std::vector<TensorType> outputs, ContextShape(node));
  outputs.resize(1);
  return outputs;
}

absl::StatusOr<std::vector<TensorType>> GradShape(const NodeView& node) {
  RETURN_IF_ERROR(CheckSequences(node, kBackward));
  RETURN_IF_ERROR(CheckScorer(node, kBackward));
  const TensorType context = ContextOf(node, kBackward), probabilities = ProbabilitiesOf(node, kBackward);
  RETURN_IF_ERROR(CheckDType(node, Grad::kDcontext, "dcontext", context.dtype));
  RETURN_IF_ERROR(CheckShape(node, Grad::kDcontext, "dcontext", context.shape, "[n,q,c] of query and values"));
  RETURN_IF_ERROR(CheckDType(node, Grad::kProbabilities, "probabilities", probabilities.dtype));
  RETURN_IF_ERROR(
      CheckShape(node, Grad::kProbabilities, "probabilities", probabilities.shape, "[n,q,t] of query and keys"));
  return std::vector<TensorType>{*node.inputs[Grad::kQuery], *node.inputs[Grad::kKeys], *node.inputs[Grad::kValues],
                                 *node.inputs[Grad::kV],     *node.inputs[Grad::kGain], *node.inputs[Grad::kBias]};
}

// Of attention the context alone.
RulesFunction ContextRules(size_t outputs) {
  return [outputs](const NodeView&) {
    std::vector<Rule> rules = {{"samples", {S(0), S(0), S(0), R(), R(), R(), S(0)}, {S(0), S(0)}},
                               {"dimension1", {S(1), R(), R(), R(), R(), R(), R()}, {S(1), S(1)}},
                               {"channels", {R(), R(), S(2), R(), R(), R(), R()}, {S(2), R()}}};
    for (Rule& rule : rules) rule.outputs.resize(outputs);
    return rules;
  };
}

std::vector<Rule> GradRules(const NodeView&) {
  return {{"samples", {S(0), S(0), S(0), S(0), S(0), R(), R(), R()}, {S(0), S(0), S(0), P(), P(), P()}},
          {"dimension1", {S(1), S(1), S(1), R(), R(), R(), R(), R()}, {S(1), P(), P(), P(), P(), P()}},
          {"channels", {S(2), R(), R(), R(), S(2), R(), R(), R()}, {P(), P(), S(2), P(), P(), P()}},
          {"partial", {P(), R(), R(), R(), R(), R(), R(), R()}, {P(), P(), P(), P(), P(), P()}}};
}

absl::StatusOr<std::vector<ValueId>> AsContext(EntryBuilder& builder, const Node& node, const std::string& name) {
  ASSIGN_OR_RETURN(std::vector<ValueId> outputs,
                   builder.Add("attention_context", node.inputs, node.attributes, {name, name + "@probabilities"}));
  outputs.resize(1);
  return outputs;
}

absl::StatusOr<std::vector<ValueId>> ContextGradient(GradientBuilder& builder, const Node& node,
                                                     const std::vector<ValueId>& cotangents,
                                                     const std::vector<bool>& wanted) {
  std::vector<ValueId> result(node.inputs.size(), kNoValue);
  const ValueId dcontext = cotangents[In::kContext];
  if (dcontext == kNoValue || std::find(wanted.begin(), wanted.end(), true) == wanted.end()) return result;
  std::vector<ValueId> inputs = {dcontext, node.outputs[In::kProbabilities]};
  inputs.insert(inputs.end(), node.inputs.begin(), node.inputs.begin() + In::kLengths);
  ASSIGN_OR_RETURN(const std::vector<ValueId> back,
                   builder.Add("attention_context_grad", inputs, {}, InputName(builder, node, In::kQuery)));
  for (size_t i = 0; i < back.size(); ++i) {
    if (wanted[i]) result[i] = back[i];
  }
  return result;
}

// `of_a_unit` and `of_a_channel`: of each score.
FlopsFunction Cost(const Inputs& in, double of_a_unit, double of_a_channel) {
  return [=](const NodeView& node) {
    const Shape &query = in.Query(node).shape, &values = in.Values(node).shape;
    const double scores = Count({query[0], query[1], values[1]});
    return scores * (of_a_unit * static_cast<double>(query[2]) + of_a_channel * static_cast<double>(values[2]));
  };
}

constexpr double kTanh = 20;

Op Attention(const std::string& name) {
  return Op(name)
      .Inputs({"query", "keys", "values"})
      .Parameters({"v", "gain", "bias"})
      .Optional("lengths")
      .Computes(Precision::kFollows)
      .Wide({"v", "gain", "bias"})
      .Flops(Cost(kForward, kTanh + 4, 2));
}

}  // namespace

OpDefinition AttentionOp() {
  return Attention("attention")
      .Shape(AttentionShape)
      .Rules(ContextRules(1))
      .InTraining(AsContext)
      .InEvaluation(AsContext);
}

OpDefinition AttentionContextOp() {
  return Attention("attention_context")
      .Internal()
      .Outputs(2)
      .Shape(ContextShape)
      .Rules(ContextRules(2))
      .Gradient(ContextGradient);
}

OpDefinition AttentionContextGradOp() {
  return Op("attention_context_grad")
      .Internal()
      .Inputs({"dcontext", "probabilities", "query", "keys", "values"})
      .Parameters({"v", "gain", "bias"})
      .Outputs(6)
      .Shape(GradShape)
      .Rules(GradRules)
      .Wide({"probabilities", "v", "gain", "bias"})
      .Flops(Cost(kBackward, kTanh + 10, 4));
}

}  // namespace partita
