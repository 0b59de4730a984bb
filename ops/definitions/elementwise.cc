// Ops on elements of the same place; any shape, all splits. add and those of PairOps broadcast (broadcast.h): an entry
// point makes inputs of the result's shape for them, each rank the block that it needs.
//
//   relu(x), ...    those of the lists in ops/functors/elementwise.h
//                   gradient <name>_grad(dy, y), or of x where the functor reads its input
//   add(x...)       the sum of all inputs; the cotangent goes to each
//   mul(x, y)       x y; dx = dy y
//   sub(x, y)       x - y
//   maximum(x, y)   the larger one; equal ones share the cotangent in halves
//                   maximum_share(x, y)   d maximum / dx: 1, 1/2 or 0
//   greater(x, y)   1 where x > y, else 0; no gradient flows
//   greater_equal(x, y)   1 where x >= y
//   masked(x, mask)   x where the mask is not 0, else 0, whatever x is there; no gradient flows to the mask
//   scale(x)        factor x, a number that the graph says
//   over(x, s)      x / s, of a scalar s: ds = - sum of dx y
//   stop_gradient(x)   x, through which no gradient flows. The output is a view
//   div(x, y)       q = x / y; dx = dq / y, dy = div_denominator_grad(dx, q) = - dx q
#include "ops/functors/elementwise.h"

#include <algorithm>
#include <limits>

#include "ops/definitions/definitions.h"
#include "ops/forms/broadcast.h"
#include "ops/forms/op_builder.h"
#include "ops/forms/op_checks.h"
#include "ops/forms/op_rules.h"
#include "runtime/base/status.h"

namespace partita {
namespace {

int Rank(const NodeView& node) { return static_cast<int>(node.inputs[0]->shape.size()); }

double OnePerElement(const NodeView& node) {
  return Count(node.outputs[0].shape) * std::max(1.0, static_cast<double>(node.inputs.size()) - 1);
}

// All inputs have the type of the first, which is floating.
ShapeFunction SameTypes(const std::vector<std::string>& names) {
  return [names](const NodeView& node) -> absl::StatusOr<std::vector<TensorType>> {
    const auto name = [&](size_t i) { return i < names.size() ? names[i] : fmt::format("{}[{}]", names.back(), i); };
    RETURN_IF_ERROR(CheckFloating(node, 0, name(0)));
    for (size_t i = 1; i < node.inputs.size(); ++i) {
      RETURN_IF_ERROR(
          CheckLike(node, static_cast<int>(i), name(i), node.inputs[0]->shape, fmt::format("the same as {}", name(0))));
    }
    return std::vector<TensorType>{*node.inputs[0]};
  };
}

// Their shapes may differ.
ShapeFunction Broadcast(const std::vector<std::string>& names) {
  return [names](const NodeView& node) -> absl::StatusOr<std::vector<TensorType>> {
    std::vector<std::string> all = names;
    for (size_t i = all.size(); i < node.inputs.size(); ++i) all.push_back(fmt::format("{}[{}]", names.back(), i));
    ASSIGN_OR_RETURN(TensorType whole, BroadcastType(node, all));
    return std::vector<TensorType>{std::move(whole)};
  };
}

absl::StatusOr<ValueId> AddOne(EntryBuilder& builder, const std::string& op, std::vector<ValueId> inputs,
                               Attributes attributes, const std::string& name) {
  ASSIGN_OR_RETURN(const std::vector<ValueId> outputs,
                   builder.Add(op, std::move(inputs), std::move(attributes), {name}));
  return outputs[0];
}

// x in the shape of `like`, or, if that is none, in `whole`.
absl::StatusOr<ValueId> Expanded(EntryBuilder& builder, ValueId x, ValueId like, const Shape& whole,
                                 const std::string& name) {
  const IntList axes = BroadcastAxes(builder.graph().type(x).shape, whole);
  IntList sizes;
  Shape kept;
  for (size_t d = 0; d < whole.size(); ++d) {
    const bool is_new = std::ranges::find(axes, static_cast<int64_t>(d)) != axes.end();
    (is_new ? sizes : kept).push_back(whole[d]);
  }
  if (builder.graph().type(x).shape != kept) {
    ASSIGN_OR_RETURN(x, AddOne(builder, "reshape", {x}, {{"shape", kept}}, name + "@kept"));
  }
  if (like == kNoValue) return AddOne(builder, "expand", {x}, {{"axes", axes}, {"sizes", sizes}}, name);
  return AddOne(builder, "expand_like", {like, x}, {{"axes", axes}}, name);
}

// Of inputs of one shape, that of the result. They lie as the first that has it, or else as the first that has its
// first dimension: where that is the batch, what is expanded as a constant lies would not be of its samples.
absl::StatusOr<std::vector<ValueId>> OfOneShape(EntryBuilder& builder, const Node& node, const std::string& name) {
  std::vector<TensorType> types;
  for (const ValueId input : node.inputs) types.push_back(builder.graph().type(input));
  NodeView view{node.attributes, {}, {}};
  for (const TensorType& type : types) view.inputs.push_back(&type);
  ASSIGN_OR_RETURN(const std::vector<TensorType> outputs, node.op->shape(view));
  const Shape& whole = outputs[0].shape;
  std::vector<ValueId> inputs = node.inputs;
  const auto found = std::ranges::find_if(types, [&](const TensorType& type) { return type.shape == whole; });
  ValueId like = found == types.end() ? kNoValue : inputs[found - types.begin()];
  std::vector<size_t> expanded;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (types[i].shape != whole) expanded.push_back(i);
  }
  std::ranges::stable_partition(
      expanded, [&](size_t i) { return types[i].shape.size() == whole.size() && types[i].shape[0] == whole[0]; });
  for (const size_t i : expanded) {
    ASSIGN_OR_RETURN(inputs[i], Expanded(builder, inputs[i], like, whole, fmt::format("{}@whole{}", name, i)));
    if (like == kNoValue) like = inputs[i];
  }
  return builder.Add(node.op->name, std::move(inputs), node.attributes, {name});
}

// Of dy and what the forward op took or gave: linear in the first.
std::vector<Rule> UnaryGradRules(const NodeView& node) {
  std::vector<Rule> rules = EveryDimension(Rank(node), {true, true});
  rules.push_back(Partial({P(), R()}));
  return rules;
}

std::vector<Rule> AddRules(const NodeView& node) {
  std::vector<Rule> rules = BroadcastRules(node);
  rules.push_back(Partial(std::vector<Pattern>(node.inputs.size(), P())));
  return rules;
}

std::vector<Rule> MulRules(const NodeView& node) {
  std::vector<Rule> rules = BroadcastRules(node);
  rules.push_back(Partial({P(), R()}));
  rules.push_back(Partial({R(), P()}));
  return rules;
}

std::vector<Rule> SubRules(const NodeView& node) {
  std::vector<Rule> rules = BroadcastRules(node);
  rules.push_back(Partial({P(), P()}));
  return rules;
}

std::vector<Rule> OneLinearRules(const NodeView& node) {
  std::vector<Rule> rules = EveryDimension(Rank(node), {true});
  if (IsFloating(node.inputs[0]->dtype)) rules.push_back(Partial({P()}));
  return rules;
}

// Linear in the first.
std::vector<Rule> FirstLinearRules(const NodeView& node) {
  std::vector<Rule> rules = BroadcastRules(node);
  rules.push_back(Partial({P(), R()}));
  return rules;
}

// By the op `<name>_grad`. If it takes the result, the input need not be kept.
Gradient UnaryGradient(bool reads_result) {
  return [reads_result](GradientBuilder& builder, const Node& node, const std::vector<ValueId>& cotangents,
                        const std::vector<bool>& wanted) -> absl::StatusOr<std::vector<ValueId>> {
    if (!wanted[0]) return std::vector<ValueId>{kNoValue};
    const ValueId kept = reads_result ? node.outputs[0] : node.inputs[0];
    ASSIGN_OR_RETURN(const ValueId dx,
                     AddOne(builder, node.op->name + "_grad", {cotangents[0], kept}, {}, InputName(builder, node, 0)));
    return std::vector<ValueId>{dx};
  };
}

template <typename F>
Op UnaryOp() {
  return Op(F::Name())
      .Inputs({"x"})
      .Shape(SameTypes({"x"}))
      .Rules([](const NodeView& node) { return EveryDimension(Rank(node), {true}); })
      .Computes(Precision::kFollows)
      .Flops(OnePerElement)
      .InPlace(0, 0);
}

template <typename F>
OpDefinition UnaryGradOp() {
  const std::vector<std::string> inputs = {"dy", F::kGradientReadsResult ? "y" : "x"};
  return Op(GradientOf<F>::Name())
      .Internal()
      .Inputs(inputs)
      .Shape(SameTypes(inputs))
      .Rules(UnaryGradRules)
      .Flops(OnePerElement)
      .InPlace(0, 0);
}

absl::StatusOr<std::vector<ValueId>> AddGradient(GradientBuilder&, const Node& node,
                                                 const std::vector<ValueId>& cotangents, const std::vector<bool>&) {
  return std::vector<ValueId>(node.inputs.size(), cotangents[0]);
}

absl::StatusOr<std::vector<ValueId>> MulGradient(GradientBuilder& builder, const Node& node,
                                                 const std::vector<ValueId>& cotangents,
                                                 const std::vector<bool>& wanted) {
  std::vector<ValueId> result(2, kNoValue);
  for (int i = 0; i < 2; ++i) {
    if (!wanted[i]) continue;
    ASSIGN_OR_RETURN(result[i],
                     AddOne(builder, "mul", {cotangents[0], node.inputs[1 - i]}, {}, InputName(builder, node, i)));
  }
  return result;
}

absl::StatusOr<ValueId> Scaled(GradientBuilder& builder, ValueId x, double factor, const std::string& base) {
  return AddOne(builder, "scale", {x}, {{"factor", factor}}, base);
}

absl::StatusOr<std::vector<ValueId>> SubGradient(GradientBuilder& builder, const Node& node,
                                                 const std::vector<ValueId>& cotangents,
                                                 const std::vector<bool>& wanted) {
  std::vector<ValueId> result = {cotangents[0], kNoValue};
  if (wanted[1]) {
    ASSIGN_OR_RETURN(result[1], Scaled(builder, cotangents[0], -1, InputName(builder, node, 1)));
  }
  return result;
}

absl::StatusOr<std::vector<ValueId>> ScaleGradient(GradientBuilder& builder, const Node& node,
                                                   const std::vector<ValueId>& cotangents,
                                                   const std::vector<bool>& wanted) {
  std::vector<ValueId> result = {kNoValue};
  if (wanted[0]) {
    ASSIGN_OR_RETURN(result[0],
                     Scaled(builder, cotangents[0], node.attributes.Float("factor"), InputName(builder, node, 0)));
  }
  return result;
}

absl::StatusOr<std::vector<ValueId>> MaximumGradient(GradientBuilder& builder, const Node& node,
                                                     const std::vector<ValueId>& cotangents,
                                                     const std::vector<bool>& wanted) {
  std::vector<ValueId> result(2, kNoValue);
  for (int i = 0; i < 2; ++i) {
    if (!wanted[i]) continue;
    const std::string base = InputName(builder, node, i);
    ASSIGN_OR_RETURN(const ValueId share,
                     AddOne(builder, "maximum_share", {node.inputs[i], node.inputs[1 - i]}, {}, base));
    ASSIGN_OR_RETURN(result[i], AddOne(builder, "mul", {cotangents[0], share}, {}, base));
  }
  return result;
}

absl::StatusOr<std::vector<TensorType>> ScaleShape(const NodeView& node) {
  RETURN_IF_ERROR(CheckNumber(node.attributes, "factor", -std::numeric_limits<double>::infinity()));
  RETURN_IF_ERROR(CheckFloating(node, 0, "x"));
  return std::vector<TensorType>{*node.inputs[0]};
}

OpDefinition AddOp() {
  return Op("add")
      .As(Role::kAdd)
      .Variadic("x")
      .Shape(Broadcast({"x"}))
      .InTraining(OfOneShape)
      .InEvaluation(OfOneShape)
      .Rules(AddRules)
      .Gradient(AddGradient)
      .Computes(Precision::kFollows)
      .Flops(OnePerElement)
      .InPlace(0, 0);
}

OpDefinition MulOp() {
  return Op("mul")
      .Inputs({"x", "y"})
      .Shape(Broadcast({"x", "y"}))
      .InTraining(OfOneShape)
      .InEvaluation(OfOneShape)
      .Rules(MulRules)
      .Gradient(MulGradient)
      .Computes(Precision::kFollows)
      .Flops(OnePerElement)
      .InPlace(0, 0);
}

// What two numbers make.
Op PairOp(const std::string& name, const std::string& other = "y") {
  return Op(name)
      .Inputs({"x", other})
      .Shape(Broadcast({"x", other}))
      .Rules(BroadcastRules)
      .Flops(OnePerElement)
      .InPlace(0, 0);
}

Op BroadcastingPairOp(const std::string& name, const std::string& other = "y") {
  return PairOp(name, other).InTraining(OfOneShape).InEvaluation(OfOneShape).Computes(Precision::kFollows);
}

OpDefinition SubOp() { return BroadcastingPairOp("sub").Rules(SubRules).Gradient(SubGradient); }

OpDefinition MaximumOp() { return BroadcastingPairOp("maximum").Gradient(MaximumGradient); }

absl::StatusOr<std::vector<ValueId>> MaskedGradient(GradientBuilder& builder, const Node& node,
                                                    const std::vector<ValueId>& cotangents,
                                                    const std::vector<bool>& wanted) {
  std::vector<ValueId> result(2, kNoValue);
  if (!wanted[0]) return result;
  ASSIGN_OR_RETURN(result[0],
                   AddOne(builder, "masked", {cotangents[0], node.inputs[1]}, {}, InputName(builder, node, 0)));
  return result;
}

OpDefinition MaskedOp() {
  return BroadcastingPairOp("masked", "mask").Constant({"mask"}).Rules(FirstLinearRules).Gradient(MaskedGradient);
}

OpDefinition ScaleOp() {
  return Op("scale")
      .Inputs({"x"})
      .Required("factor", 1.0)
      .Shape(ScaleShape)
      .Rules(OneLinearRules)
      .Gradient(ScaleGradient)
      .Computes(Precision::kFollows)
      .Flops(OnePerElement)
      .InPlace(0, 0);
}

absl::StatusOr<std::vector<ValueId>> DivGradient(GradientBuilder& builder, const Node& node,
                                                 const std::vector<ValueId>& cotangents,
                                                 const std::vector<bool>& wanted) {
  std::vector<ValueId> result(2, kNoValue);
  if (!wanted[0] && !wanted[1]) return result;
  ASSIGN_OR_RETURN(const ValueId dx,
                   AddOne(builder, "div", {cotangents[0], node.inputs[1]}, {}, InputName(builder, node, 0)));
  if (wanted[0]) result[0] = dx;
  if (wanted[1]) {
    ASSIGN_OR_RETURN(result[1],
                     AddOne(builder, "div_denominator_grad", {dx, node.outputs[0]}, {}, InputName(builder, node, 1)));
  }
  return result;
}

OpDefinition DivOp() { return BroadcastingPairOp("div").Rules(FirstLinearRules).Gradient(DivGradient); }

absl::StatusOr<std::vector<TensorType>> OverShape(const NodeView& node) {
  RETURN_IF_ERROR(CheckFloating(node, 0, "x"));
  RETURN_IF_ERROR(CheckLike(node, 1, "s", {}, "a scalar"));
  return std::vector<TensorType>{*node.inputs[0]};
}

// Linear in x.
std::vector<Rule> OverRules(const NodeView& node) {
  std::vector<Rule> rules = EveryDimension(Rank(node), {true, false});
  rules.push_back(Partial({P(), R()}));
  return rules;
}

absl::StatusOr<std::vector<ValueId>> OverGradient(GradientBuilder& builder, const Node& node,
                                                  const std::vector<ValueId>& cotangents,
                                                  const std::vector<bool>& wanted) {
  std::vector<ValueId> result(2, kNoValue);
  if (!wanted[0] && !wanted[1]) return result;
  ASSIGN_OR_RETURN(const ValueId dx,
                   AddOne(builder, "over", {cotangents[0], node.inputs[1]}, {}, InputName(builder, node, 0)));
  if (wanted[0]) result[0] = dx;
  if (wanted[1]) {
    const std::string base = InputName(builder, node, 1);
    ASSIGN_OR_RETURN(ValueId products, AddOne(builder, "mul", {dx, node.outputs[0]}, {}, base));
    if (!InputShape(builder, node, 0).empty()) {
      ASSIGN_OR_RETURN(products, AddOne(builder, "sum", {products}, {}, base));
    }
    ASSIGN_OR_RETURN(result[1], Scaled(builder, products, -1, base));
  }
  return result;
}

OpDefinition OverOp() {
  return Op("over")
      .Inputs({"x", "s"})
      .Shape(OverShape)
      .Rules(OverRules)
      .Gradient(OverGradient)
      .Flops([](const NodeView& node) { return Count(node.inputs[0]->shape); })
      .InPlace(0, 0);
}

OpDefinition StopGradientOp() {
  return Op("stop_gradient")
      .Inputs({"x"})
      .Shape([](const NodeView& node) -> absl::StatusOr<std::vector<TensorType>> {
        return std::vector<TensorType>{*node.inputs[0]};
      })
      .Rules(OneLinearRules)
      .Computes(Precision::kFollows)
      .View();
}

OpDefinition DivDenominatorGradOp() {
  return Op("div_denominator_grad")
      .Internal()
      .Inputs({"dx", "q"})
      .Shape(SameTypes({"dx", "q"}))
      .Rules(MulRules)
      .Flops(OnePerElement)
      .InPlace(0, 0);
}

}  // namespace

std::vector<OpDefinition> ElementwiseOps() {
  std::vector<OpDefinition> ops = {AddOp(),
                                   MulOp(),
                                   SubOp(),
                                   MaximumOp(),
                                   BroadcastingPairOp("greater").Constant({"x", "y"}),
                                   BroadcastingPairOp("greater_equal").Constant({"x", "y"}),
                                   MaskedOp(),
                                   DivOp(),
                                   DivDenominatorGradOp(),
                                   PairOp("maximum_share").Internal().Shape(SameTypes({"x", "y"})),
                                   ScaleOp(),
                                   OverOp(),
                                   StopGradientOp()};
  ForEachType(SmoothOps(), [&]<typename F>() {
    ops.push_back(UnaryOp<F>().Gradient(UnaryGradient(F::kGradientReadsResult)));
    ops.push_back(UnaryGradOp<F>());
  });
  ForEachType(StepOps(), [&]<typename F>() { ops.push_back(UnaryOp<F>()); });
  return ops;
}

}  // namespace partita
