// y[n,i,j,o] = sum over a, b, c of w[o,a,b,c] x[n, i*stride - top + a*dilation, j*stride - left + b*dilation, g+c]
//
//   x [n,h,w,c]   w [o,kh,kw,c/groups]   y [n,h',w',o]   padding (top, bottom, left, right) reads zeros
// Output channels [k*o/groups, (k+1)*o/groups) see the k-th block of c/groups input channels (g = k*c/groups).
// With more than one group, `output_channels` splits x, w and y between groups; a rank computes its groups alone.
//
//   conv2d_epilogue(x, w, bias) activation     y + bias[o], and then the op of that name; each may be absent
// joins what follows a convolution to it (ops/fusions/fuse_epilogues.h). It is not linear, so it carries no P.
//
//   conv2d_input_grad(dy, w) shape=x     the transpose in x: linear in dy and w
//   conv2d_weight_grad(x, dy) shape=w    the transpose in w: a sum over samples
//
//   conv2d_input_grad_sum(dy, w, dy', w', ...) shape=x     conv2d_input_grad(dy, w) + conv2d_input_grad(dy', w') + ...
// joins what convolutions of one x, with windows of one size, add to its cotangent (ops/fusions/sum_input_gradients.h).
// They have output channels of their own, so that these cannot be split alike.
#include "ops/definitions/definitions.h"
#include "ops/forms/epilogue.h"
#include "ops/forms/op_builder.h"
#include "ops/forms/op_checks.h"
#include "ops/forms/op_rules.h"
#include "ops/forms/window.h"
#include "runtime/base/status.h"

namespace partita {
namespace {

// The output of x * w; both have rank 4 and positive sizes.
absl::StatusOr<Shape> ConvolutionOutput(const Attributes& attributes, const Shape& x, const Shape& w) {
  const int64_t groups = attributes.Int("groups");
  RETURN_IF_ERROR(CheckAtLeast(attributes, "groups", 1));
  if (x[3] % groups != 0 || w[0] % groups != 0) {
    return InvalidArgument("attribute groups is {}; it must divide the {} input channels and the {} output channels",
                           groups, x[3], w[0]);
  }
  if (w[3] != x[3] / groups) {
    return InvalidArgument("w has shape {}: {} input channels; x has {} in {} groups: {} are needed", ToString(w), w[3],
                           x[3], groups, x[3] / groups);
  }
  ASSIGN_OR_RETURN(const Window window, ConvolutionWindow(attributes, w[1], w[2]));
  ASSIGN_OR_RETURN(const auto outputs, WindowOutputs(window, x[1], x[2]));
  return Shape{x[0], outputs[0], outputs[1], w[0]};
}

absl::StatusOr<std::vector<TensorType>> Conv2dShape(const NodeView& node) {
  RETURN_IF_ERROR(CheckFloating(node, 0, "x"));
  RETURN_IF_ERROR(CheckDType(node, 1, "w", node.inputs[0]->dtype));
  RETURN_IF_ERROR(CheckRank(node, 0, "x", {4}, "[n,h,w,c]"));
  RETURN_IF_ERROR(CheckRank(node, 1, "w", {4}, "[out,h,w,in]"));
  ASSIGN_OR_RETURN(Shape y, ConvolutionOutput(node.attributes, node.inputs[0]->shape, node.inputs[1]->shape));
  return std::vector<TensorType>{{node.inputs[0]->dtype, std::move(y)}};
}

absl::StatusOr<std::vector<TensorType>> EpilogueShape(const NodeView& node) {
  ASSIGN_OR_RETURN(std::vector<TensorType> y, Conv2dShape(node));
  RETURN_IF_ERROR(CheckEpilogue(node, y[0]));
  return y;
}

// Of inputs `first` and behind it, the cotangent and filters of a convolution of x.
absl::Status CheckInputGrad(const NodeView& node, int first, const Shape& x) {
  RETURN_IF_ERROR(CheckFloating(node, first, "dy"));
  RETURN_IF_ERROR(CheckDType(node, first + 1, "w", node.inputs[first]->dtype));
  RETURN_IF_ERROR(CheckRank(node, first + 1, "w", {4}, "[out,h,w,in]"));
  ASSIGN_OR_RETURN(const Shape y, ConvolutionOutput(node.attributes, x, node.inputs[first + 1]->shape));
  return CheckShape(node, first, "dy", y, "the convolution's output");
}

absl::StatusOr<Shape> ImagesAttribute(const NodeView& node) {
  ASSIGN_OR_RETURN(Shape x, ShapeAttribute(node.attributes, 4));
  if (x.size() != 4) return InvalidArgument("attribute shape is {}; [n,h,w,c] is needed", ToString(x));
  return x;
}

absl::StatusOr<std::vector<TensorType>> InputGradShape(const NodeView& node) {
  ASSIGN_OR_RETURN(const Shape x, ImagesAttribute(node));
  RETURN_IF_ERROR(CheckInputGrad(node, 0, x));
  return std::vector<TensorType>{{node.inputs[0]->dtype, x}};
}

absl::StatusOr<std::vector<TensorType>> InputGradSumShape(const NodeView& node) {
  const auto inputs = static_cast<int>(node.inputs.size());
  if (inputs % 2 != 0) return InvalidArgument("there are {} inputs; dy and w of each convolution are needed", inputs);
  ASSIGN_OR_RETURN(const Shape x, ImagesAttribute(node));
  for (int i = 0; i < inputs; i += 2) {
    RETURN_IF_ERROR(CheckDType(node, i, "dy", node.inputs[0]->dtype));
    RETURN_IF_ERROR(CheckInputGrad(node, i, x));
    const Shape &first = node.inputs[1]->shape, &w = node.inputs[i + 1]->shape;
    if (w[1] == first[1] && w[2] == first[2]) continue;
    return InvalidArgument("w has windows of {} x {}, that before it of {} x {}; they must be of one size", w[1], w[2],
                           first[1], first[2]);
  }
  return std::vector<TensorType>{{node.inputs[0]->dtype, x}};
}

absl::StatusOr<std::vector<TensorType>> WeightGradShape(const NodeView& node) {
  RETURN_IF_ERROR(CheckFloating(node, 0, "x"));
  RETURN_IF_ERROR(CheckDType(node, 1, "dy", node.inputs[0]->dtype));
  RETURN_IF_ERROR(CheckRank(node, 0, "x", {4}, "[n,h,w,c]"));
  ASSIGN_OR_RETURN(const Shape w, ShapeAttribute(node.attributes, 4));
  if (w.size() != 4) return InvalidArgument("attribute shape is {}; [out,h,w,in] is needed", ToString(w));
  ASSIGN_OR_RETURN(const Shape y, ConvolutionOutput(node.attributes, node.inputs[0]->shape, w));
  RETURN_IF_ERROR(CheckShape(node, 1, "dy", y, "the convolution's output"));
  return std::vector<TensorType>{{node.inputs[0]->dtype, w}};
}

// The three arrays of a convolution: which of them a node reads, in its order, and which one it makes.
enum class Part { kX, kW, kY };

struct ConvolutionView {
  std::vector<Part> inputs;
  Part output;
};

// The rule that splits the parts so; what is reduced over is a partial sum.
Rule RuleOf(const ConvolutionView& view, const std::string& name, const std::optional<Pattern>& x,
            const std::optional<Pattern>& w, const std::optional<Pattern>& y) {
  const auto of = [&](Part part) { return part == Part::kX ? x : part == Part::kW ? w : y; };
  Rule rule{name, {}, {of(view.output).value_or(P())}};
  rule.inputs.reserve(view.inputs.size());
  for (const Part part : view.inputs) rule.inputs.push_back(of(part).value_or(R()));
  return rule;
}

// Samples, then channels (whole groups, if there are several), then rows and columns, then the two ways to carry a P.
std::vector<Rule> BilinearRules(const NodeView& node, const ConvolutionView& view) {
  const auto shape = [&](Part part) -> const Shape& {
    for (size_t i = 0; i < view.inputs.size(); ++i) {
      if (view.inputs[i] == part) return node.inputs[i]->shape;
    }
    return node.outputs[0].shape;
  };
  const auto none = std::optional<Pattern>();
  std::vector<Rule> rules = {RuleOf(view, "samples", S(0), none, S(0))};
  const int64_t groups = node.attributes.Int("groups");
  if (groups == 1) {
    rules.push_back(RuleOf(view, "output_channels", none, S(0), S(3)));
    rules.push_back(RuleOf(view, "input_channels", S(3), S(3), none));
  } else {
    const int64_t depth = shape(Part::kX)[3] / groups, filters = shape(Part::kY)[3] / groups;
    rules.push_back(RuleOf(view, "output_channels", S(3, depth), S(0, filters), S(3, filters)));
  }
  const Shape& w = shape(Part::kW);
  const absl::StatusOr<Window> window = ConvolutionWindow(node.attributes, w[1], w[2]);
  CHECK(window.ok());
  for (const SpatialRule& spatial : SpatialRules(*window, shape(Part::kX), shape(Part::kY), /*clipped=*/false)) {
    const Pattern& x = view.output == Part::kX ? spatial.dx : spatial.x;
    rules.push_back(RuleOf(view, spatial.name, x, none, spatial.y));
  }
  rules.push_back(Partial({P(), R()}));
  rules.push_back(Partial({R(), P()}));
  return rules;
}

// Those of one term, for all of them; their output channels are not as many, and have no cuts in common.
std::vector<Rule> InputGradSumRules(const NodeView& node) {
  const NodeView term{node.attributes, {node.inputs[0], node.inputs[1]}, node.outputs};
  std::vector<Rule> rules = BilinearRules(term, {{Part::kY, Part::kW}, Part::kX});
  std::erase_if(rules, [](const Rule& rule) { return rule.name == "output_channels"; });
  for (Rule& rule : rules) {
    for (size_t i = 2; i < node.inputs.size(); ++i) rule.inputs.push_back(rule.inputs[i - 2]);
  }
  return rules;
}

absl::StatusOr<std::vector<ValueId>> Conv2dGradient(GradientBuilder& builder, const Node& node,
                                                    const std::vector<ValueId>& cotangents,
                                                    const std::vector<bool>& wanted) {
  std::vector<ValueId> result(2, kNoValue);
  const ValueId x = node.inputs[0], w = node.inputs[1], dy = cotangents[0];
  if (wanted[0]) {
    ASSIGN_OR_RETURN(result[0], AddOne(builder, "conv2d_input_grad", {dy, w},
                                       WithShape(node, InputShape(builder, node, 0)), InputName(builder, node, 0)));
  }
  if (wanted[1]) {
    ASSIGN_OR_RETURN(result[1], AddOne(builder, "conv2d_weight_grad", {x, dy},
                                       WithShape(node, InputShape(builder, node, 1)), InputName(builder, node, 1)));
  }
  return result;
}

// A multiply-add per element of y and tap of w.
// Also where a rank has none of the output channels: w[0] is 0 there.
double Cost(const Shape& y, const Shape& w) { return 2 * Count(y) * Count({w.begin() + 1, w.end()}); }

Op ConvolutionOp(const std::string& name) {
  return Op(name)
      .Attribute("stride", IntList{1, 1})
      .Attribute("padding", IntList{0, 0, 0, 0})
      .Attribute("dilation", IntList{1, 1})
      .Attribute("groups", int64_t{1});
}

}  // namespace

OpDefinition Conv2dOp() {
  return ConvolutionOp("conv2d")
      .As(Role::kConvolution)
      .Inputs({"x"})
      .Parameters({"w"})
      .Shape(Conv2dShape)
      .Rules([](const NodeView& node) {
        return BilinearRules(node, {{Part::kX, Part::kW}, Part::kY});
      })
      .Gradient(Conv2dGradient)
      .Computes(Precision::kNarrow)
      .Windowed(0)
      .Flops([](const NodeView& node) { return Cost(node.outputs[0].shape, node.inputs[1]->shape); });
}

OpDefinition Conv2dEpilogueOp() {
  return ConvolutionOp("conv2d_epilogue")
      .Internal()
      .Inputs({"x"})
      .Parameters({"w"})
      .Optional("bias")
      .Attribute("activation", "")
      .Shape(EpilogueShape)
      .Rules([](const NodeView& node) {
        return EpilogueRules(BilinearRules(node, {{Part::kX, Part::kW}, Part::kY}));
      })
      .Computes(Precision::kNarrow)
      .Wide({"bias"})
      .Windowed(0)
      .Flops([](const NodeView& node) {
        return Cost(node.outputs[0].shape, node.inputs[1]->shape) + EpilogueFlops(node);
      });
}

OpDefinition Conv2dInputGradOp() {
  return ConvolutionOp("conv2d_input_grad")
      .Internal()
      .Inputs({"dy"})
      .Parameters({"w"})
      .Required("shape", IntList())
      .Shape(InputGradShape)
      .Rules([](const NodeView& node) {
        return BilinearRules(node, {{Part::kY, Part::kW}, Part::kX});
      })
      .Flops([](const NodeView& node) { return Cost(node.inputs[0]->shape, node.inputs[1]->shape); });
}

OpDefinition Conv2dInputGradSumOp() {
  return ConvolutionOp("conv2d_input_grad_sum")
      .Internal()
      .Variadic("dy_and_w")
      .Required("shape", IntList())
      .Shape(InputGradSumShape)
      .Rules(InputGradSumRules)
      .Flops([](const NodeView& node) {
        double flops = 0;
        for (size_t i = 0; i < node.inputs.size(); i += 2) {
          flops += Cost(node.inputs[i]->shape, node.inputs[i + 1]->shape);
        }
        return flops;
      });
}

OpDefinition Conv2dWeightGradOp() {
  return ConvolutionOp("conv2d_weight_grad")
      .Internal()
      .Inputs({"x", "dy"})
      .Required("shape", IntList())
      .Shape(WeightGradShape)
      .Rules([](const NodeView& node) {
        return BilinearRules(node, {{Part::kX, Part::kY}, Part::kW});
      })
      .Flops([](const NodeView& node) { return Cost(node.inputs[1]->shape, node.outputs[0].shape); });
}

}  // namespace partita
