// Sums over dimensions, and what is the same along dimensions.
//
//   sum(x) axes keep_sizes         over these dimensions of x, over all if axes is empty; they are gone from the
//   result,
//                                  or of size 1 with keep_sizes. In double; the result is f32 of a bf16 x
//   mean(x) axes keep_sizes batch  the same over the number of elements that are added: those of all ranks. Where the
//                                  samples are among them, `batch` says how many the whole batch has; 0: as many as x
//   expand(x) axes sizes           the same along new dimensions: `axes` are their places in the result
//   expand_like(x, y) axes         y along the dimensions `axes` of x, which it lacks; x says what sizes these have and
//                                  how the result lies, and is not read. Entry points make it for what broadcasts
//                                  (elementwise.cc)
//
// A split of what is added gives partial sums. x says how its cotangent shall lie and is not read:
//
//   sum_grad(x?, dy) axes sizes dtype divisor    expand(dy) / divisor
#include <algorithm>
#include <optional>

#include "ops/definitions/definitions.h"
#include "ops/forms/op_builder.h"
#include "ops/forms/op_checks.h"
#include "ops/forms/op_rules.h"
#include "ops/forms/sample_weights.h"
#include "runtime/base/status.h"

namespace partita {
namespace {

absl::Status CheckAxes(const IntList& axes, int64_t rank, const std::string& what) {
  for (size_t i = 0; i < axes.size(); ++i) {
    if (axes[i] < 0 || axes[i] >= rank) {
      return InvalidArgument("attribute axes has {}; {} has dimensions 0 to {}", axes[i], what, rank - 1);
    }
    if (i > 0 && axes[i] <= axes[i - 1]) {
      return InvalidArgument("attribute axes has {} behind {}; rising ones are needed", axes[i], axes[i - 1]);
    }
  }
  return absl::OkStatus();
}

bool Contains(const IntList& axes, size_t d) { return std::ranges::find(axes, static_cast<int64_t>(d)) != axes.end(); }

// Those that are meant where none is named.
IntList SummedAxes(const Attributes& attributes, const Shape& x) {
  IntList axes = attributes.Ints("axes");
  for (size_t d = 0; attributes.Ints("axes").empty() && d < x.size(); ++d) axes.push_back(static_cast<int64_t>(d));
  return axes;
}

Shape Kept(const Shape& x, const IntList& axes, bool keep_sizes) {
  Shape kept;
  for (size_t d = 0; d < x.size(); ++d) {
    if (!Contains(axes, d)) kept.push_back(x[d]);
    if (Contains(axes, d) && keep_sizes) kept.push_back(1);
  }
  return kept;
}

absl::StatusOr<std::vector<TensorType>> SumShape(const NodeView& node) {
  RETURN_IF_ERROR(CheckFloating(node, 0, "x"));
  const Shape& x = node.inputs[0]->shape;
  if (x.empty()) return InvalidArgument("input x is a scalar; at least 1 dimension is needed");
  RETURN_IF_ERROR(CheckAxes(node.attributes.Ints("axes"), static_cast<int64_t>(x.size()), "x"));
  const IntList axes = SummedAxes(node.attributes, x);
  return std::vector<TensorType>{
      {AccumulatorOf(node.inputs[0]->dtype), Kept(x, axes, node.attributes.Bool("keep_sizes"))}};
}

absl::StatusOr<std::vector<TensorType>> MeanShape(const NodeView& node) {
  RETURN_IF_ERROR(CheckAtLeast(node.attributes, "batch", 0));
  return SumShape(node);
}

// `sizes` at `axes`, those of x elsewhere. `name` is that of input `index`.
absl::StatusOr<Shape> ExpandedShape(const NodeView& node, int index, const std::string& name) {
  const IntList &axes = node.attributes.Ints("axes"), &sizes = node.attributes.Ints("sizes");
  RETURN_IF_ERROR(CheckFloating(node, index, name));
  const Shape& x = node.inputs[index]->shape;
  const size_t rank = x.size() + axes.size();
  if (axes.empty() || rank > kMaxRank) {
    return InvalidArgument(
        "attribute axes has {} dimensions beside those {} of {}; at least 1 and together at most {} "
        "are allowed",
        axes.size(), x.size(), name, kMaxRank);
  }
  RETURN_IF_ERROR(CheckAxes(axes, static_cast<int64_t>(rank), "the result"));
  RETURN_IF_ERROR(CheckInts(node.attributes, "sizes", axes.size(), 1));
  Shape shape;
  for (size_t d = 0, added = 0; d < rank; ++d) {
    const bool is_new = Contains(axes, d);
    shape.push_back(is_new ? sizes[added] : x[d - added]);
    added += is_new;
  }
  return shape;
}

absl::StatusOr<std::vector<TensorType>> ExpandShape(const NodeView& node) {
  ASSIGN_OR_RETURN(Shape shape, ExpandedShape(node, 0, "x"));
  return std::vector<TensorType>{{node.inputs[0]->dtype, std::move(shape)}};
}

absl::StatusOr<std::vector<TensorType>> ExpandLikeShape(const NodeView& node) {
  RETURN_IF_ERROR(CheckFloating(node, 0, "x"));
  RETURN_IF_ERROR(CheckDType(node, 1, "y", node.inputs[0]->dtype));
  const Shape& x = node.inputs[0]->shape;
  const IntList& axes = node.attributes.Ints("axes");
  if (axes.empty()) return InvalidArgument("attribute axes has 0 dimensions; at least 1 is needed");
  RETURN_IF_ERROR(CheckAxes(axes, static_cast<int64_t>(x.size()), "x"));
  RETURN_IF_ERROR(CheckShape(node, 1, "y", Kept(x, axes, false), "the other dimensions of x"));
  return std::vector<TensorType>{*node.inputs[0]};
}

absl::StatusOr<std::vector<TensorType>> SumGradShape(const NodeView& node) {
  RETURN_IF_ERROR(CheckPositive(node.attributes, "divisor"));
  ASSIGN_OR_RETURN(const DType dtype, DTypeAttribute(node.attributes));
  ASSIGN_OR_RETURN(Shape shape, ExpandedShape(node, 1, "dy"));
  RETURN_IF_ERROR(CheckDType(node, 1, "dy", AccumulatorOf(dtype)));
  return std::vector<TensorType>{{dtype, std::move(shape)}};
}

std::vector<Rule> SumRules(const NodeView& node) {
  const Shape& x = node.inputs[0]->shape;
  const IntList axes = SummedAxes(node.attributes, x);
  std::vector<Rule> rules = EveryDimension(static_cast<int>(x.size()), {true});
  int kept = 0;
  for (size_t d = 0; d < x.size(); ++d) {
    const bool summed = Contains(axes, d);
    rules[d].outputs[0] = summed ? P() : S(kept);
    kept += !summed || node.attributes.Bool("keep_sizes");
  }
  rules.push_back(Partial({P()}));
  return rules;
}

std::vector<Rule> ExpandRules(const NodeView& node) {
  const int rank = static_cast<int>(node.outputs[0].shape.size());
  const IntList& axes = node.attributes.Ints("axes");
  std::vector<Rule> rules;
  for (int d = 0; d < rank; ++d) {
    if (Contains(axes, d)) continue;
    rules.push_back({DimensionName(rank, d), {S(static_cast<int>(rules.size()))}, {S(d)}});
  }
  rules.push_back(Partial({P()}));
  return rules;
}

// Of expand_like as well.
std::vector<Rule> SumGradRules(const NodeView& node) {
  const int rank = static_cast<int>(node.outputs[0].shape.size());
  const IntList& axes = node.attributes.Ints("axes");
  std::vector<Rule> rules = EveryDimension(rank, {true, false});
  for (int d = 0, kept = 0; d < rank; ++d) {
    if (!Contains(axes, d)) rules[d].inputs[1] = S(kept++);
  }
  rules.push_back(Partial({R(), P()}));
  return rules;
}

// Of a mean; of a sum 1.
double Divisor(const Node& node, const Shape& x, const IntList& axes) {
  if (!node.attributes.Has("batch")) return 1;
  const int64_t batch = node.attributes.Int("batch");
  double count = 1;
  for (const int64_t axis : axes) count *= static_cast<double>(axis == 0 && batch > 0 ? batch : x[axis]);
  return count;
}

absl::StatusOr<std::vector<ValueId>> SumGradient(GradientBuilder& builder, const Node& node,
                                                 const std::vector<ValueId>& cotangents,
                                                 const std::vector<bool>& wanted) {
  if (!wanted[0]) return std::vector<ValueId>{kNoValue};
  const TensorType x = builder.graph().type(node.inputs[0]);
  const IntList axes = SummedAxes(node.attributes, x.shape);
  IntList sizes;
  for (const int64_t axis : axes) sizes.push_back(x.shape[axis]);
  ValueId dy = cotangents[0];
  if (node.attributes.Bool("keep_sizes")) {
    ASSIGN_OR_RETURN(dy, AddOne(builder, "reshape", {dy}, {{"shape", Kept(x.shape, axes, false)}},
                                builder.graph().value(node.outputs[0]).name));
  }
  const Attributes attributes{{"axes", axes},
                              {"sizes", sizes},
                              {"dtype", std::string(Name(x.dtype))},
                              {"divisor", Divisor(node, x.shape, axes)}};
  ASSIGN_OR_RETURN(const std::vector<ValueId> dx, builder.AddLike(node.inputs[0], "sum_grad", {kNoValue, dy},
                                                                  attributes, InputName(builder, node, 0)));
  return dx;
}

// Of the last input, which is what is expanded.
absl::StatusOr<std::vector<ValueId>> ExpandGradient(GradientBuilder& builder, const Node& node,
                                                    const std::vector<ValueId>& cotangents,
                                                    const std::vector<bool>& wanted) {
  const int expanded = static_cast<int>(node.inputs.size()) - 1;
  std::vector<ValueId> result(node.inputs.size(), kNoValue);
  if (!wanted[expanded]) return result;
  const std::string base = InputName(builder, node, expanded);
  const DType dtype = builder.graph().type(node.inputs[expanded]).dtype;
  ValueId& dx = result[expanded];
  ASSIGN_OR_RETURN(dx, AddOne(builder, "sum", {cotangents[0]}, {{"axes", node.attributes.Ints("axes")}}, base));
  if (builder.graph().type(dx).dtype != dtype) {
    ASSIGN_OR_RETURN(dx, AddOne(builder, "cast", {dx}, {{"dtype", std::string(Name(dtype))}}, base));
  }
  return result;
}

absl::StatusOr<ValueId> AddOne(EntryBuilder& builder, const std::string& op, ValueId x, Attributes attributes,
                               const std::string& name) {
  ASSIGN_OR_RETURN(const std::vector<ValueId> outputs, builder.Add(op, {x}, std::move(attributes), {name}));
  return outputs[0];
}

// x, each sample times what it weighs.
absl::StatusOr<ValueId> Weighed(EntryBuilder& builder, ValueId x, const SampleRows& samples, const std::string& name) {
  const TensorType type = builder.graph().type(x);
  ASSIGN_OR_RETURN(ValueId weights, WeightsOfRows(builder, x, samples));
  IntList axes, sizes;
  for (size_t d = 0; d < type.shape.size(); ++d) {
    if (static_cast<int>(d) == samples.dimension) continue;
    axes.push_back(static_cast<int64_t>(d));
    sizes.push_back(type.shape[d]);
  }
  if (!axes.empty()) {
    ASSIGN_OR_RETURN(weights,
                     AddOne(builder, "expand", weights, {{"axes", axes}, {"sizes", sizes}}, name + "@of_elements"));
  }
  ASSIGN_OR_RETURN(const std::vector<ValueId> weighed, builder.Add("mul", {x, weights}, {}, {name + "@weighed"}));
  return weighed[0];
}

// Of the samples of a batch of evaluation each counts for what it weighs (graph/passes/prepare_evaluation.h).
absl::StatusOr<std::vector<ValueId>> OfWeighedSamples(EntryBuilder& builder, const Node& node,
                                                      const std::string& name) {
  ValueId x = node.inputs[0];
  const TensorType type = builder.graph().type(x);
  const std::optional<SampleRows> samples = builder.SamplesOf(x);
  if (samples && Contains(SummedAxes(node.attributes, type.shape), static_cast<size_t>(samples->dimension))) {
    ASSIGN_OR_RETURN(x, Weighed(builder, x, *samples, name));
  }
  return builder.Add(node.op->name, {x}, node.attributes, {name});
}

double OfInput(const NodeView& node) { return Count(node.inputs[0]->shape); }
double OfOutput(const NodeView& node) { return Count(node.outputs[0].shape); }

Op SumLike(const std::string& name) {
  return Op(name)
      .Inputs({"x"})
      .Attribute("axes", IntList())
      .Attribute("keep_sizes", false)
      .Rules(SumRules)
      .Gradient(SumGradient)
      .InEvaluation(OfWeighedSamples)
      .Computes(Precision::kFollows)
      .Flops(OfInput);
}

}  // namespace

OpDefinition SumOp() { return SumLike("sum").Shape(SumShape); }

OpDefinition MeanOp() { return SumLike("mean").Attribute("batch", int64_t{0}).Shape(MeanShape); }

OpDefinition SumGradOp() {
  return Op("sum_grad")
      .Internal()
      .Optional("x")
      .Inputs({"dy"})
      .Wide({"dy"})
      .Required("axes", IntList())
      .Required("sizes", IntList())
      .Required("dtype", "")
      .Attribute("divisor", 1.0)
      .Shape(SumGradShape)
      .Rules(SumGradRules)
      .Flops(OfOutput);
}

OpDefinition ExpandLikeOp() {
  return Op("expand_like")
      .Inputs({"x", "y"})
      .Required("axes", IntList())
      .Shape(ExpandLikeShape)
      .Rules(SumGradRules)
      .Gradient(ExpandGradient)
      .Computes(Precision::kFollows)
      .Flops(OfOutput);
}

OpDefinition ExpandOp() {
  return Op("expand")
      .Inputs({"x"})
      .Required("axes", IntList())
      .Required("sizes", IntList())
      .Shape(ExpandShape)
      .Rules(ExpandRules)
      .Gradient(ExpandGradient)
      .Computes(Precision::kFollows)
      .Flops(OfOutput);
}

}  // namespace partita
