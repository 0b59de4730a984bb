// A long short-term memory (ops/functors/lstm.h) over sequences of t places.
//
//   lstm(g, w_h, w_projection?, h0?, c0?, lengths?) reverse forget_bias carry -> h
// is what a user writes. g [n,t,4H] is what each place adds by itself, a product and a bias; column unit * 4 + gate is
// the sum of that gate of that unit, in the order input, forget, candidate, output. To it the place before adds
// h_before w_h, with w_h [P,4H]. Without a projection h [n,t,H] are the units' outputs; with one, w_projection [H,P],
// it is their product with it, [n,t,P]. The first place follows h0 [n,P] and c0 [n,H], zero where they are absent. With
// `reverse` the last place is the first. Sequence i ends after lengths[i] places: those behind are no part of it, h is
// 0 there. A node has no kernel and no gradient; it is
//   h, gates, c, last_h, last_c = lstm_steps(g, w_h, w_projection?, h0?, c0?, lengths?) reverse forget_bias
// which also gives what the gradient reads, gates [n,t,4H] as they opened (which may lie where g did) and the cells c
// [n,t,H], and the state behind each sequence's end. No gradient arrives at any of these.
// With `carry` sequence i of a step goes on with sequence i of the step before (a language model's batches): h0 and c0,
// which must be absent, are states, "<name>@h" and "<name>@c" (carried_state.h).
//
// Samples may be split. Of a bf16 g the cells and c0 are f32, all else is bf16.
#include <cmath>
#include <optional>

#include "ops/definitions/sequences/carried_state.h"
#include "ops/definitions/sequences/sequences.h"
#include "ops/forms/op_builder.h"
#include "ops/forms/op_checks.h"
#include "ops/forms/op_rules.h"
#include "ops/values/lstm_places.h"
#include "runtime/base/status.h"

namespace partita {
namespace {

using In = LstmSteps;

struct Sizes {
  int64_t samples, places, units, outputs;
};

Sizes SizesOf(const NodeView& node) {
  const Shape& g = node.inputs[In::kG]->shape;
  return {g[0], g[1], g[2] / 4, node.inputs[In::kWeights]->shape[0]};
}

absl::Status CheckG(const NodeView& node) {
  RETURN_IF_ERROR(CheckFloating(node, In::kG, "g"));
  RETURN_IF_ERROR(CheckRank(node, In::kG, "g", {3}, "[n,t,4 units]"));
  const Shape& g = node.inputs[In::kG]->shape;
  if (g[2] % 4 == 0) return absl::OkStatus();
  return InvalidArgument("input g has shape {}; [n,t,4 units] is needed: four gates for each unit", ToString(g));
}

// Without a projection w_h takes what the units give.
absl::Status CheckWeights(const NodeView& node) {
  const TensorType& g = *node.inputs[In::kG];
  RETURN_IF_ERROR(CheckDType(node, In::kWeights, "w_h", g.dtype));
  RETURN_IF_ERROR(CheckRank(node, In::kWeights, "w_h", {2}, "[outputs,4 units]"));
  const bool projected = node.inputs[In::kProjection] != nullptr;
  const int64_t units = g.shape[2] / 4, outputs = projected ? node.inputs[In::kWeights]->shape[0] : units;
  RETURN_IF_ERROR(CheckShape(node, In::kWeights, "w_h", {outputs, g.shape[2]}, "[outputs,4 units] of g"));
  return CheckLike(node, In::kProjection, "w_projection", {units, outputs}, "[units,outputs]");
}

absl::Status CheckBegin(const NodeView& node) {
  const Sizes s = SizesOf(node);
  RETURN_IF_ERROR(CheckLike(node, In::kH0, "h0", {s.samples, s.outputs}, "[n,outputs]"));
  if (node.inputs[In::kC0] != nullptr) {
    RETURN_IF_ERROR(CheckDType(node, In::kC0, "c0", AccumulatorOf(node.inputs[In::kG]->dtype)));
    RETURN_IF_ERROR(CheckShape(node, In::kC0, "c0", {s.samples, s.units}, "[n,units]"));
  }
  if (node.inputs[In::kLengths] == nullptr) return absl::OkStatus();
  RETURN_IF_ERROR(CheckDType(node, In::kLengths, "lengths", DType::kI32));
  return CheckShape(node, In::kLengths, "lengths", {s.samples}, "one for each sequence");
}

absl::Status CheckNode(const NodeView& node) {
  RETURN_IF_ERROR(CheckG(node));
  RETURN_IF_ERROR(CheckWeights(node));
  RETURN_IF_ERROR(CheckBegin(node));
  const double bias = node.attributes.Float("forget_bias");
  if (std::isfinite(bias)) return absl::OkStatus();
  return InvalidArgument("attribute forget_bias is {}; it must be finite", bias);
}

absl::StatusOr<std::vector<TensorType>> StepsShape(const NodeView& node) {
  RETURN_IF_ERROR(CheckNode(node));
  const Sizes s = SizesOf(node);
  const TensorType& g = *node.inputs[In::kG];
  const DType cell = AccumulatorOf(g.dtype);
  return std::vector<TensorType>{{g.dtype, {s.samples, s.places, s.outputs}},
                                 g,
                                 {cell, {s.samples, s.places, s.units}},
                                 {g.dtype, {s.samples, s.outputs}},
                                 {cell, {s.samples, s.units}}};
}

absl::Status CheckCarry(const NodeView& node) {
  if (!node.attributes.Bool("carry")) return absl::OkStatus();
  if (node.inputs[In::kH0] == nullptr && node.inputs[In::kC0] == nullptr) return absl::OkStatus();
  return InvalidArgument(
      "attribute carry is true, so sequences begin where those of the step before ended; input {} "
      "must be absent",
      node.inputs[In::kH0] == nullptr ? "c0" : "h0");
}

absl::StatusOr<std::vector<TensorType>> LstmShape(const NodeView& node) {
  ASSIGN_OR_RETURN(std::vector<TensorType> outputs, StepsShape(node));
  RETURN_IF_ERROR(CheckCarry(node));
  outputs.resize(1);
  return outputs;
}

RulesFunction Samples(size_t outputs) {
  return [outputs](const NodeView&) {
    return std::vector<Rule>{{"samples", {S(0), R(), R(), S(0), S(0), S(0)}, std::vector<Pattern>(outputs, S(0))}};
  };
}

double Cost(const NodeView& node) {
  const Sizes s = SizesOf(node);
  const double cells = Count({s.samples, s.places, s.units}), outputs = static_cast<double>(s.outputs);
  const double projection = node.inputs[In::kProjection] == nullptr ? 0 : 2 * outputs;
  constexpr double kOfAUnit = 60;  // five exponentials and what is around them
  return cells * (8 * outputs + projection + kOfAUnit);
}

absl::StatusOr<std::vector<ValueId>> AddSteps(EntryBuilder& builder, const std::vector<ValueId>& inputs,
                                              Attributes attributes, const std::string& name) {
  attributes.Remove("carry");
  return builder.Add("lstm_steps", inputs, std::move(attributes),
                     {name, name + "@gates", name + "@cells", name + "@last", name + "@last_cells"});
}

absl::StatusOr<std::vector<ValueId>> AsSteps(EntryBuilder& builder, const Node& node, const std::string& name) {
  std::vector<ValueId> inputs = node.inputs;
  std::optional<CarriedState> h, c;
  if (node.attributes.Bool("carry")) {
    const TensorType g = builder.graph().type(inputs[In::kG]);
    const Shape weights = builder.graph().type(inputs[In::kWeights]).shape;
    ASSIGN_OR_RETURN(h, BeginCarried(builder, name + "@h", {g.dtype, {g.shape[0], weights[0]}}));
    ASSIGN_OR_RETURN(c, BeginCarried(builder, name + "@c", {AccumulatorOf(g.dtype), {g.shape[0], g.shape[2] / 4}}));
    inputs[In::kH0] = h->begin;
    inputs[In::kC0] = c->begin;
  }
  ASSIGN_OR_RETURN(const std::vector<ValueId> outputs, AddSteps(builder, inputs, node.attributes, name));
  if (h) RETURN_IF_ERROR(EndCarried(builder, *h, outputs[LstmSteps::kLastH]));
  if (c) RETURN_IF_ERROR(EndCarried(builder, *c, outputs[LstmSteps::kLastC]));
  return std::vector<ValueId>{outputs[LstmSteps::kH]};
}

// The way back along the places, then a product over all of them for each weight.
absl::StatusOr<std::vector<ValueId>> StepsGradient(GradientBuilder& builder, const Node& node,
                                                   const std::vector<ValueId>& cotangents,
                                                   const std::vector<bool>& wanted) {
  using Grad = LstmStepsGrad;
  std::vector<ValueId> result(6, kNoValue);
  const std::vector<ValueId>& in = node.inputs;
  const ValueId dh = cotangents[LstmSteps::kH], projection = in[In::kProjection];
  if (dh == kNoValue || std::find(wanted.begin(), wanted.end(), true) == wanted.end()) return result;
  std::vector<ValueId> inputs = {dh,
                                 node.outputs[LstmSteps::kGates],
                                 node.outputs[LstmSteps::kCells],
                                 node.outputs[LstmSteps::kH],
                                 in[In::kWeights],
                                 in[In::kH0],
                                 in[In::kC0],
                                 in[In::kLengths]};
  if (projection != kNoValue) inputs.push_back(projection);
  ASSIGN_OR_RETURN(const std::vector<ValueId> back,
                   builder.Add(projection == kNoValue ? "lstm_steps_grad" : "lstm_projected_steps_grad", inputs,
                               {{"reverse", node.attributes.Bool("reverse")}}, InputName(builder, node, In::kG)));
  const auto product = [&](ValueId x, ValueId dy, In::Input weight) {
    return AddOne(builder, "matmul", {x, dy}, {{"transpose_x", true}}, InputName(builder, node, weight));
  };
  const auto asked = [&](In::Input input) { return wanted[input] && in[input] != kNoValue; };
  if (asked(In::kG)) result[In::kG] = back[Grad::kDg];
  if (asked(In::kH0)) result[In::kH0] = back[Grad::kDh0];
  if (asked(In::kC0)) result[In::kC0] = back[Grad::kDc0];
  if (asked(In::kWeights)) {
    ASSIGN_OR_RETURN(result[In::kWeights], product(back[Grad::kPrevious], back[Grad::kDg], In::kWeights));
  }
  if (asked(In::kProjection)) {
    ASSIGN_OR_RETURN(result[In::kProjection],
                     product(back[Grad::kCellOutputs], back[Grad::kDprojected], In::kProjection));
  }
  return result;
}

Op Recurrence(const std::string& name) {
  return Op(name)
      .Inputs({"g"})
      .Parameters({"w_h"})
      .Optional("w_projection")
      .Optional("h0")
      .Optional("c0")
      .Optional("lengths")
      .Attribute("reverse", false)
      .Attribute("forget_bias", 0.0)
      .Computes(Precision::kNarrow)
      .Wide({"c0"})
      .Flops(Cost);
}

}  // namespace

OpDefinition LstmOp() {
  return Recurrence("lstm")
      .Attribute("carry", false)
      .Shape(LstmShape)
      .Rules(Samples(1))
      .InTraining(AsSteps)
      .InEvaluation(AsSteps);
}

OpDefinition LstmStepsOp() {
  return Recurrence("lstm_steps")
      .Internal()
      .Outputs(5)
      .Shape(StepsShape)
      .Rules(Samples(5))
      .Gradient(StepsGradient)
      .InPlace(LstmSteps::kG, LstmSteps::kGates);
}

}  // namespace partita
