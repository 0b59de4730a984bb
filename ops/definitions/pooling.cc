// Pooling over windows of [n,h,w,c] (ops/forms/window.h); padding must be less than the kernel, so no window is empty.
//
//   max_pool      the largest element; padding never wins. The first one in row-major window order gets the gradient.
//   average_pool  the mean: over the whole kernel with count_padding, else over the elements inside the image
//
// Gradients: max_pool_grad(x, y, dy); average_pool_grad(dy) shape=x, which is linear in dy.
//
//   global_average_pool   y[n,c] = mean over h, w of x[n,h,w,c]. The divisor is the global h*w, so split rows give
//                         partial means
//   global_average_pool_grad(dy) shape=x    dy / (h*w) everywhere
#include "ops/definitions/definitions.h"
#include "ops/forms/op_builder.h"
#include "ops/forms/op_checks.h"
#include "ops/forms/op_rules.h"
#include "ops/forms/window.h"
#include "runtime/base/status.h"

namespace partita {
namespace {

absl::StatusOr<Shape> PoolingOutput(const Attributes& attributes, const Shape& x) {
  ASSIGN_OR_RETURN(const Window window, PoolingWindow(attributes));
  ASSIGN_OR_RETURN(const auto outputs, WindowOutputs(window, x[1], x[2]));
  return Shape{x[0], outputs[0], outputs[1], x[3]};
}

absl::StatusOr<std::vector<TensorType>> PoolShape(const NodeView& node) {
  RETURN_IF_ERROR(CheckFloating(node, 0, "x"));
  RETURN_IF_ERROR(CheckRank(node, 0, "x", {4}, "[n,h,w,c]"));
  ASSIGN_OR_RETURN(Shape y, PoolingOutput(node.attributes, node.inputs[0]->shape));
  return std::vector<TensorType>{{node.inputs[0]->dtype, std::move(y)}};
}

absl::StatusOr<std::vector<TensorType>> MaxPoolGradShape(const NodeView& node) {
  ASSIGN_OR_RETURN(const std::vector<TensorType> y, PoolShape(node));
  RETURN_IF_ERROR(CheckLike(node, 1, "y", y[0].shape, "the pooling's output"));
  RETURN_IF_ERROR(CheckLike(node, 2, "dy", y[0].shape, "the pooling's output"));
  return std::vector<TensorType>{*node.inputs[0]};
}

absl::StatusOr<std::vector<TensorType>> AveragePoolGradShape(const NodeView& node) {
  RETURN_IF_ERROR(CheckFloating(node, 0, "dy"));
  ASSIGN_OR_RETURN(const Shape x, ShapeAttribute(node.attributes, 4));
  if (x.size() != 4) return InvalidArgument("attribute shape is {}; [n,h,w,c] is needed", ToString(x));
  ASSIGN_OR_RETURN(const Shape y, PoolingOutput(node.attributes, x));
  RETURN_IF_ERROR(CheckShape(node, 0, "dy", y, "the pooling's output"));
  return std::vector<TensorType>{{node.inputs[0]->dtype, x}};
}

// How an array lies: as the images x, or as y with a row and column for each window.
enum class Grid { kImages, kWindows };

// Windows do not cross samples or channels; rows and columns are split by the windows that read them.
std::vector<Rule> PoolRules(const NodeView& node, const std::vector<Grid>& inputs, Grid output) {
  Shape x = node.outputs[0].shape, y = node.outputs[0].shape;
  for (size_t i = 0; i < inputs.size(); ++i) (inputs[i] == Grid::kImages ? x : y) = node.inputs[i]->shape;
  std::vector<Rule> rules = {{"samples", std::vector<Pattern>(inputs.size(), S(0)), {S(0)}},
                             {"channels", std::vector<Pattern>(inputs.size(), S(3)), {S(3)}}};
  const absl::StatusOr<Window> window = PoolingWindow(node.attributes);
  CHECK(window.ok());
  for (const SpatialRule& spatial : SpatialRules(*window, x, y, /*clipped=*/true)) {
    Rule rule{spatial.name, {}, {output == Grid::kImages ? spatial.dx : spatial.y}};
    for (const Grid grid : inputs) rule.inputs.push_back(grid == Grid::kImages ? spatial.x : spatial.y);
    rules.push_back(std::move(rule));
  }
  return rules;
}

// Of average pooling, which carries a P.
std::vector<Rule> LinearRules(const NodeView& node, Grid input, Grid output) {
  std::vector<Rule> rules = PoolRules(node, {input}, output);
  rules.push_back(Partial({P()}));
  return rules;
}

absl::StatusOr<std::vector<ValueId>> MaxPoolGradient(GradientBuilder& builder, const Node& node,
                                                     const std::vector<ValueId>& cotangents,
                                                     const std::vector<bool>& wanted) {
  if (!wanted[0]) return std::vector<ValueId>{kNoValue};
  ASSIGN_OR_RETURN(const ValueId dx, AddOne(builder, "max_pool_grad", {node.inputs[0], node.outputs[0], cotangents[0]},
                                            node.attributes, InputName(builder, node, 0)));
  return std::vector<ValueId>{dx};
}

absl::StatusOr<std::vector<ValueId>> AveragePoolGradient(GradientBuilder& builder, const Node& node,
                                                         const std::vector<ValueId>& cotangents,
                                                         const std::vector<bool>& wanted) {
  if (!wanted[0]) return std::vector<ValueId>{kNoValue};
  ASSIGN_OR_RETURN(const ValueId dx,
                   AddOne(builder, "average_pool_grad", {cotangents[0]}, WithShape(node, InputShape(builder, node, 0)),
                          InputName(builder, node, 0)));
  return std::vector<ValueId>{dx};
}

// One operation per window element; `windows` has the windows' shape.
double Cost(const Attributes& attributes, const Shape& windows) {
  return Count(windows) * Count(attributes.Ints("kernel"));
}

Op PoolingOp(const std::string& name) {
  return Op(name)
      .Required("kernel", IntList())
      .Attribute("stride", IntList{1, 1})
      .Attribute("padding", IntList{0, 0, 0, 0});
}

absl::StatusOr<std::vector<TensorType>> GlobalPoolShape(const NodeView& node) {
  RETURN_IF_ERROR(CheckFloating(node, 0, "x"));
  RETURN_IF_ERROR(CheckRank(node, 0, "x", {4}, "[n,h,w,c]"));
  const Shape& x = node.inputs[0]->shape;
  return std::vector<TensorType>{{node.inputs[0]->dtype, {x[0], x[3]}}};
}

absl::StatusOr<std::vector<TensorType>> GlobalPoolGradShape(const NodeView& node) {
  RETURN_IF_ERROR(CheckFloating(node, 0, "dy"));
  ASSIGN_OR_RETURN(const Shape x, ShapeAttribute(node.attributes, 4));
  if (x.size() != 4) return InvalidArgument("attribute shape is {}; [n,h,w,c] is needed", ToString(x));
  RETURN_IF_ERROR(CheckShape(node, 0, "dy", {x[0], x[3]}, "samples and channels of attribute shape"));
  return std::vector<TensorType>{{node.inputs[0]->dtype, x}};
}

std::vector<Rule> GlobalPoolRules(const NodeView&) {
  return {{"samples", {S(0)}, {S(0)}},
          {"channels", {S(3)}, {S(1)}},
          {"height", {S(1)}, {P()}},
          {"width", {S(2)}, {P()}},
          Partial({P()})};
}

std::vector<Rule> GlobalPoolGradRules(const NodeView&) {
  return {{"samples", {S(0)}, {S(0)}}, {"channels", {S(1)}, {S(3)}}, Partial({P()})};
}

absl::StatusOr<std::vector<ValueId>> GlobalPoolGradient(GradientBuilder& builder, const Node& node,
                                                        const std::vector<ValueId>& cotangents,
                                                        const std::vector<bool>& wanted) {
  if (!wanted[0]) return std::vector<ValueId>{kNoValue};
  ASSIGN_OR_RETURN(const ValueId dx,
                   AddOne(builder, "global_average_pool_grad", {cotangents[0]},
                          WithShape(node, InputShape(builder, node, 0)), InputName(builder, node, 0)));
  return std::vector<ValueId>{dx};
}

}  // namespace

OpDefinition MaxPoolOp() {
  return PoolingOp("max_pool")
      .Inputs({"x"})
      .Shape(PoolShape)
      .Rules([](const NodeView& node) { return PoolRules(node, {Grid::kImages}, Grid::kWindows); })
      .Gradient(MaxPoolGradient)
      .Computes(Precision::kFollows)
      .Flops([](const NodeView& node) { return Cost(node.attributes, node.outputs[0].shape); });
}

OpDefinition MaxPoolGradOp() {
  return PoolingOp("max_pool_grad")
      .Internal()
      .Inputs({"x", "y", "dy"})
      .Shape(MaxPoolGradShape)
      .Rules([](const NodeView& node) {
        return PoolRules(node, {Grid::kImages, Grid::kWindows, Grid::kWindows}, Grid::kImages);
      })
      .Flops([](const NodeView& node) { return Cost(node.attributes, node.inputs[1]->shape); });
}

OpDefinition AveragePoolOp() {
  return PoolingOp("average_pool")
      .Inputs({"x"})
      .Attribute("count_padding", true)
      .Shape(PoolShape)
      .Rules([](const NodeView& node) { return LinearRules(node, Grid::kImages, Grid::kWindows); })
      .Gradient(AveragePoolGradient)
      .Computes(Precision::kFollows)
      .Flops([](const NodeView& node) { return Cost(node.attributes, node.outputs[0].shape); });
}

OpDefinition AveragePoolGradOp() {
  return PoolingOp("average_pool_grad")
      .Internal()
      .Inputs({"dy"})
      .Attribute("count_padding", true)
      .Required("shape", IntList())
      .Shape(AveragePoolGradShape)
      .Rules([](const NodeView& node) { return LinearRules(node, Grid::kWindows, Grid::kImages); })
      .Flops([](const NodeView& node) { return Cost(node.attributes, node.inputs[0]->shape); });
}

OpDefinition GlobalAveragePoolOp() {
  return Op("global_average_pool")
      .Inputs({"x"})
      .Shape(GlobalPoolShape)
      .Rules(GlobalPoolRules)
      .Gradient(GlobalPoolGradient)
      .Computes(Precision::kFollows)
      .Flops([](const NodeView& node) { return Count(node.inputs[0]->shape); });
}

OpDefinition GlobalAveragePoolGradOp() {
  return Op("global_average_pool_grad")
      .Internal()
      .Inputs({"dy"})
      .Required("shape", IntList())
      .Shape(GlobalPoolGradShape)
      .Rules(GlobalPoolGradRules)
      .Flops([](const NodeView& node) { return Count(node.inputs[0]->shape); });
}

}  // namespace partita
