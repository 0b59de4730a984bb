// The way back along the places of an LSTM, from the last that was computed to the first (lstm.cc).
//
//   lstm_steps_grad(dh, gates, c, h, w_h, h0?, c0?, lengths?) reverse -> dg, previous, dh0, dc0
//   lstm_projected_steps_grad(the same, w_projection) -> the same, dprojected, outputs
//
// dg [n,t,4H], which may lie where the gates did, is the gradient of g and of h_before w_h alike; `previous` [n,t,P] is
// h_before, so that the gradient of w_h is previous^T dg over all places. Likewise that of w_projection is outputs^T
// dprojected: the units' outputs [n,t,H], made again from gates and cells, and the whole gradient of h [n,t,P], what
// the places behind ask for included. All of them are 0 at places behind a sequence's end, where h is 0 whatever is
// before. dh0 is 0 if there is no h0.
#include "ops/definitions/sequences/sequences.h"
#include "ops/forms/op_builder.h"
#include "ops/forms/op_checks.h"
#include "ops/forms/op_rules.h"
#include "ops/values/lstm_places.h"
#include "runtime/base/status.h"

namespace partita {
namespace {

using In = LstmStepsGrad;

struct Sizes {
  int64_t samples, places, units, outputs;
};

Sizes SizesOf(const NodeView& node) {
  const Shape &cells = node.inputs[In::kCells]->shape, &dh = node.inputs[In::kDh]->shape;
  return {cells[0], cells[1], cells[2], dh[2]};
}

absl::Status CheckPlaces(const NodeView& node) {
  const TensorType& dh = *node.inputs[In::kDh];
  RETURN_IF_ERROR(CheckFloating(node, In::kDh, "dh"));
  RETURN_IF_ERROR(CheckRank(node, In::kDh, "dh", {3}, "[n,t,outputs]"));
  RETURN_IF_ERROR(CheckDType(node, In::kCells, "c", AccumulatorOf(dh.dtype)));
  RETURN_IF_ERROR(CheckRank(node, In::kCells, "c", {3}, "[n,t,units]"));
  const Sizes s = SizesOf(node);
  RETURN_IF_ERROR(CheckShape(node, In::kCells, "c", {dh.shape[0], dh.shape[1], s.units}, "the places of dh"));
  RETURN_IF_ERROR(CheckLike(node, In::kGates, "gates", {s.samples, s.places, 4 * s.units}, "four for each unit"));
  return CheckLike(node, In::kH, "h", dh.shape, "the same as dh");
}

absl::Status CheckRest(const NodeView& node) {
  const Sizes s = SizesOf(node);
  RETURN_IF_ERROR(CheckLike(node, In::kWeights, "w_h", {s.outputs, 4 * s.units}, "[outputs,4 units]"));
  RETURN_IF_ERROR(CheckLike(node, In::kH0, "h0", {s.samples, s.outputs}, "[n,outputs]"));
  if (node.inputs[In::kC0] != nullptr) {
    RETURN_IF_ERROR(CheckDType(node, In::kC0, "c0", node.inputs[In::kCells]->dtype));
    RETURN_IF_ERROR(CheckShape(node, In::kC0, "c0", {s.samples, s.units}, "[n,units]"));
  }
  if (node.inputs[In::kLengths] == nullptr) return absl::OkStatus();
  RETURN_IF_ERROR(CheckDType(node, In::kLengths, "lengths", DType::kI32));
  return CheckShape(node, In::kLengths, "lengths", {s.samples}, "one for each sequence");
}

absl::StatusOr<std::vector<TensorType>> GradShape(const NodeView& node) {
  RETURN_IF_ERROR(CheckPlaces(node));
  RETURN_IF_ERROR(CheckRest(node));
  const Sizes s = SizesOf(node);
  const bool projected = node.inputs.size() > In::kProjection;
  if (!projected && s.outputs != s.units) {
    return InvalidArgument("input dh has shape {}; without a projection there are {} outputs, as units",
                           ToString(node.inputs[In::kDh]->shape), s.units);
  }
  const DType dtype = node.inputs[In::kDh]->dtype, cell = node.inputs[In::kCells]->dtype;
  std::vector<TensorType> outputs = {*node.inputs[In::kGates],
                                     {dtype, {s.samples, s.places, s.outputs}},
                                     {dtype, {s.samples, s.outputs}},
                                     {cell, {s.samples, s.units}}};
  if (!projected) return outputs;
  RETURN_IF_ERROR(CheckLike(node, In::kProjection, "w_projection", {s.units, s.outputs}, "[units,outputs]"));
  outputs.push_back({dtype, {s.samples, s.places, s.outputs}});
  outputs.push_back({dtype, {s.samples, s.places, s.units}});
  return outputs;
}

std::vector<Rule> Samples(const NodeView& node) {
  Rule rule{"samples", {S(0), S(0), S(0), S(0), R(), S(0), S(0), S(0)}, {S(0), S(0), S(0), S(0)}};
  if (node.inputs.size() > In::kProjection) {
    rule.inputs.push_back(R());
    rule.outputs.insert(rule.outputs.end(), 2, S(0));
  }
  return {rule};
}

double Cost(const NodeView& node) {
  const Sizes s = SizesOf(node);
  const double cells = Count({s.samples, s.places, s.units}), outputs = static_cast<double>(s.outputs);
  const double projection = node.inputs.size() > In::kProjection ? 2 * outputs : 0;
  constexpr double kOfAUnit = 40;
  return cells * (8 * outputs + projection + kOfAUnit);
}

Op WayBack(const std::string& name) {
  return Op(name)
      .Internal()
      .Inputs({"dh", "gates", "c", "h"})
      .Parameters({"w_h"})
      .Optional("h0")
      .Optional("c0")
      .Optional("lengths")
      .Outputs(4)
      .Attribute("reverse", false)
      .Shape(GradShape)
      .Rules(Samples)
      .Wide({"c", "c0"})
      .Flops(Cost)
      .InPlace(In::kGates, In::kDg);
}

}  // namespace

OpDefinition LstmStepsGradOp() { return WayBack("lstm_steps_grad"); }

OpDefinition LstmProjectedStepsGradOp() {
  return WayBack("lstm_projected_steps_grad").Parameters({"w_projection"}).Outputs(6);
}

}  // namespace partita
