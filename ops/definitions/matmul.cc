// y[m,n] = sum over k of X[m,k] W[k,n], where X is x or, with transpose_x, its transpose; likewise W. x may be [n,t,k],
// whose first two dimensions stand for m, and y is [n,t,n] then; with transpose_x they stand for k, as those of w do.
//
//   samples          m is split               (X S(m), R)     -> S0
//   output_channels  n is split               (R, W S(n))     -> S1
//   input_channels   k is split: partial sums (X S(k), W S(k)) -> P
//   matmul_epilogue(x, w, bias) activation     y + bias[n], and then the op of that name; each may be absent
// joins what follows a product to it (ops/fusions/fuse_epilogues.h). It is not linear, so it carries no P, unless
// nothing follows but `wide`: y is f32 where x is bf16 (ops/fusions/fuse_widening.h), a weight's gradient over samples
// too.
//
//   matmul_bias_grad(x, w) bias_of -> y, db    and the sum of the rows of w, or of x as it is stored
// is a weight's gradient and a bias's, of one cotangent (ops/fusions/fuse_bias_gradient.h). Of bf16 both are f32.
//
//   matmul_relu_mask(x, w, bias) -> y, mask    matmul_epilogue with a relu, and a bit for each element of y
//   matmul_relu_grad(dy, w, mask) -> dx        the product where the mask has a bit, else 0: linear in the product
// are a relu behind a product and its gradient (ops/fusions/fuse_relu_masks.h, ops/functors/relu_mask.h). The channels
// of a row share bytes, so they are not split.
//
// The gradients are matmuls again: dX = dY W^T, dW = X^T dY, with transposes as attributes.
#include "ops/definitions/definitions.h"
#include "ops/forms/epilogue.h"
#include "ops/forms/op_builder.h"
#include "ops/forms/op_checks.h"
#include "ops/forms/op_rules.h"
#include "ops/functors/relu_mask.h"
#include "runtime/base/status.h"

namespace partita {
namespace {

// Which dimension of x and w is which: the first one, where it is several.
struct Dimensions {
  int m, x_k, w_k, n;
};

Dimensions DimensionsOf(const NodeView& node) {
  const int x_last = static_cast<int>(node.inputs[0]->shape.size()) - 1;
  const int w_last = static_cast<int>(node.inputs[1]->shape.size()) - 1;
  const bool tx = node.attributes.Bool("transpose_x"), tw = node.attributes.Bool("transpose_w");
  return {tx ? x_last : 0, tx ? 0 : x_last, tw ? w_last : 0, tw ? 0 : w_last};
}

// Both operands have k in their first dimensions.
bool AddsRowsOfBoth(const Attributes& attributes) {
  return attributes.Bool("transpose_x") && !attributes.Bool("transpose_w");
}

absl::Status CheckOperands(const NodeView& node) {
  RETURN_IF_ERROR(CheckFloating(node, 0, "x"));
  RETURN_IF_ERROR(CheckDType(node, 1, "w", node.inputs[0]->dtype));
  const bool both = AddsRowsOfBoth(node.attributes), turned = node.attributes.Bool("transpose_x") && !both;
  RETURN_IF_ERROR(turned ? CheckRank(node, 0, "x", {2}, "[m,k]")
                         : CheckRank(node, 0, "x", {2, 3}, "[m,k] or [n,t,k] (a reshape makes one)"));
  if (!both || node.inputs[0]->shape.size() == 2) return CheckRank(node, 1, "w", {2}, "[k,n]");
  const Shape &x = node.inputs[0]->shape, &w = node.inputs[1]->shape;
  if (w.size() == 3 && w[0] == x[0] && w[1] == x[1]) return absl::OkStatus();
  return InvalidArgument("input w has shape {}; [{},{},n] is needed, as x is {}", ToString(w), x[0], x[1], ToString(x));
}

absl::StatusOr<std::vector<TensorType>> MatMulShape(const NodeView& node) {
  RETURN_IF_ERROR(CheckOperands(node));
  const Dimensions at = DimensionsOf(node);
  const Shape& x = node.inputs[0]->shape;
  const Shape& w = node.inputs[1]->shape;
  if (x[at.x_k] != w[at.w_k]) {
    return InvalidArgument("input w has shape {}: its dimension {} must be {}, as dimension {} of x {}", ToString(w),
                           at.w_k, x[at.x_k], at.x_k, ToString(x));
  }
  Shape y = {x[at.m]};
  if (!node.attributes.Bool("transpose_x") && x.size() == 3) y.push_back(x[1]);
  y.push_back(w[at.n]);
  return std::vector<TensorType>{{node.inputs[0]->dtype, std::move(y)}};
}

absl::StatusOr<std::vector<TensorType>> EpilogueShape(const NodeView& node) {
  ASSIGN_OR_RETURN(std::vector<TensorType> y, MatMulShape(node));
  RETURN_IF_ERROR(CheckEpilogue(node, y[0]));
  if (node.attributes.Bool("wide")) y[0].dtype = AccumulatorOf(y[0].dtype);
  return y;
}

std::vector<Rule> MatMulRules(const NodeView& node) {
  const Dimensions at = DimensionsOf(node);
  const int last = static_cast<int>(node.outputs[0].shape.size()) - 1;
  std::vector<Rule> rules = {{"samples", {S(at.m), R()}, {S(0)}},
                             {"output_channels", {R(), S(at.n)}, {S(last)}},
                             {"input_channels", {S(at.x_k), S(at.w_k)}, {P()}}};
  if (node.inputs[0]->shape.size() == 3) {
    const bool adds = AddsRowsOfBoth(node.attributes);
    rules.push_back({DimensionName(3, 1), {S(1), adds ? S(1) : R()}, {adds ? P() : S(1)}});
  }
  rules.push_back(Partial({P(), R()}));
  rules.push_back(Partial({R(), P()}));
  return rules;
}

absl::StatusOr<ValueId> AddMatMul(GradientBuilder& builder, ValueId x, bool transpose_x, ValueId w, bool transpose_w,
                                  const std::string& base) {
  return AddOne(builder, "matmul", {x, w}, {{"transpose_x", transpose_x}, {"transpose_w", transpose_w}}, base);
}

absl::StatusOr<std::vector<ValueId>> MatMulGradient(GradientBuilder& builder, const Node& node,
                                                    const std::vector<ValueId>& cotangents,
                                                    const std::vector<bool>& wanted) {
  std::vector<ValueId> result(2, kNoValue);
  const ValueId x = node.inputs[0], w = node.inputs[1], dy = cotangents[0];
  const bool tx = node.attributes.Bool("transpose_x"), tw = node.attributes.Bool("transpose_w");
  if (wanted[0]) {
    const std::string base = InputName(builder, node, 0);
    ASSIGN_OR_RETURN(result[0], tx ? AddMatMul(builder, w, tw, dy, true, base)      // W dY^T
                                   : AddMatMul(builder, dy, false, w, !tw, base));  // dY W^T
  }
  if (wanted[1]) {
    const std::string base = InputName(builder, node, 1);
    ASSIGN_OR_RETURN(result[1], tw ? AddMatMul(builder, dy, true, x, tx, base)      // dY^T X
                                   : AddMatMul(builder, x, !tx, dy, false, base));  // X^T dY
  }
  return result;
}

bool BiasOfX(const Attributes& attributes) { return attributes.String("bias_of") == "x"; }

absl::StatusOr<std::vector<TensorType>> BiasGradientShape(const NodeView& node) {
  RETURN_IF_ERROR(CheckChoice(node.attributes, "bias_of", {"x", "w"}));
  const bool of_x = BiasOfX(node.attributes);
  if (node.attributes.Bool(of_x ? "transpose_x" : "transpose_w") != of_x) {
    return InvalidArgument("bias_of={} needs transpose_{}={}: its rows are added up", of_x ? "x" : "w",
                           of_x ? "x" : "w", of_x);
  }
  ASSIGN_OR_RETURN(std::vector<TensorType> y, MatMulShape(node));
  const DType dtype = AccumulatorOf(y[0].dtype);
  const int64_t channels = of_x ? y[0].shape[0] : y[0].shape.back();
  return std::vector<TensorType>{{dtype, y[0].shape}, {dtype, {channels}}};
}

// The sum is split as the operand's channels are, and one of parts where that is split by rows, or one. It is not
// linear in the other operand, so no rule takes summands.
std::vector<Rule> BiasGradientRules(const NodeView& node) {
  const int operand = BiasOfX(node.attributes) ? 0 : 1;
  const int last = static_cast<int>(node.inputs[operand]->shape.size()) - 1;
  std::vector<Rule> rules = MatMulRules(node);
  std::erase_if(rules, [](const Rule& rule) { return rule.name == "partial"; });
  for (Rule& rule : rules) {
    const Pattern& dy = rule.inputs[operand];
    const bool whole = dy.kind == AxisLayout::Kind::kReplicate;
    const bool by_channels = dy.kind == AxisLayout::Kind::kSplit && dy.dimension == last;
    rule.outputs.push_back(whole ? R() : by_channels ? S(0) : P());
  }
  return rules;
}

// Of a product alone the sums may be parts of sums.
std::vector<Rule> MatMulEpilogueRules(const NodeView& node) {
  const bool alone =
      node.attributes.String("activation").empty() && (node.inputs.size() < 3 || node.inputs[2] == nullptr);
  if (!alone) return EpilogueRules(MatMulRules(node));
  std::vector<Rule> rules = MatMulRules(node);
  for (Rule& rule : rules) rule.inputs.push_back(R());
  return rules;
}

Shape MaskOf(Shape y) {
  y.back() = MaskBytes(y.back());
  return y;
}

absl::StatusOr<std::vector<TensorType>> ReluMaskShape(const NodeView& node) {
  RETURN_IF_ERROR(CheckChoice(node.attributes, "activation", {"relu"}));
  ASSIGN_OR_RETURN(std::vector<TensorType> types, EpilogueShape(node));
  types.push_back({DType::kU8, MaskOf(types[0].shape)});
  return types;
}

absl::StatusOr<std::vector<TensorType>> ReluGradShape(const NodeView& node) {
  ASSIGN_OR_RETURN(std::vector<TensorType> dx, MatMulShape(node));
  RETURN_IF_ERROR(CheckDType(node, 2, "mask", DType::kU8));
  RETURN_IF_ERROR(CheckShape(node, 2, "mask", MaskOf(dx[0].shape), "a bit for each element of dx"));
  return dx;
}

std::vector<Rule> OfWholeRows(std::vector<Rule> rules) {
  std::erase_if(rules, [](const Rule& rule) { return rule.name == "output_channels"; });
  return rules;
}

// The mask is split as y is.
std::vector<Rule> ReluMaskRules(const NodeView& node) {
  std::vector<Rule> rules = OfWholeRows(EpilogueRules(MatMulRules(node)));
  for (Rule& rule : rules) rule.outputs.push_back(rule.outputs[0]);
  return rules;
}

// The mask is split as dx is, and whole where that is one of summands.
std::vector<Rule> ReluGradRules(const NodeView& node) {
  std::vector<Rule> rules = OfWholeRows(MatMulRules(node));
  for (Rule& rule : rules) {
    const bool split = rule.outputs[0].kind == AxisLayout::Kind::kSplit;
    rule.inputs.push_back(split ? rule.outputs[0] : R());
  }
  return rules;
}

double Cost(const NodeView& node) {
  const Dimensions at = DimensionsOf(node);
  return 2 * Count(node.inputs[0]->shape) * static_cast<double>(node.inputs[1]->shape[at.n]);
}

}  // namespace

OpDefinition MatMulOp() {
  return Op("matmul")
      .As(Role::kProduct)
      .Inputs({"x"})
      .Parameters({"w"})
      .Attribute("transpose_x", false)
      .Attribute("transpose_w", false)
      .Shape(MatMulShape)
      .Rules(MatMulRules)
      .Gradient(MatMulGradient)
      .Computes(Precision::kNarrow)
      .Flops(Cost);
}

OpDefinition MatMulBiasGradOp() {
  return Op("matmul_bias_grad")
      .Internal()
      .Inputs({"x"})
      .Parameters({"w"})
      .Outputs(2)
      .Attribute("transpose_x", false)
      .Attribute("transpose_w", false)
      .Attribute("bias_of", "w")
      .Shape(BiasGradientShape)
      .Rules(BiasGradientRules)
      .Computes(Precision::kNarrow)
      .Flops([](const NodeView& node) {
        return Cost(node) + Count(node.inputs[BiasOfX(node.attributes) ? 0 : 1]->shape);
      });
}

OpDefinition MatMulEpilogueOp() {
  return Op("matmul_epilogue")
      .Internal()
      .Inputs({"x"})
      .Parameters({"w"})
      .Optional("bias")
      .Attribute("transpose_x", false)
      .Attribute("transpose_w", false)
      .Attribute("activation", "")
      .Attribute("wide", false)
      .Shape(EpilogueShape)
      .Rules(MatMulEpilogueRules)
      .Computes(Precision::kNarrow)
      .Wide({"bias"})
      .Flops([](const NodeView& node) { return Cost(node) + EpilogueFlops(node); });
}

OpDefinition MatMulReluMaskOp() {
  return Op("matmul_relu_mask")
      .Internal()
      .Inputs({"x"})
      .Parameters({"w"})
      .Optional("bias")
      .Outputs(2)
      .Attribute("transpose_x", false)
      .Attribute("transpose_w", false)
      .Attribute("activation", "relu")
      .Attribute("wide", false)
      .Shape(ReluMaskShape)
      .Rules(ReluMaskRules)
      .Computes(Precision::kNarrow)
      .Wide({"bias"})
      .Flops([](const NodeView& node) { return Cost(node) + EpilogueFlops(node); });
}

OpDefinition MatMulReluGradOp() {
  return Op("matmul_relu_grad")
      .Internal()
      .Inputs({"dy"})
      .Parameters({"w"})
      .Inputs({"mask"})
      .Attribute("transpose_x", false)
      .Attribute("transpose_w", false)
      .Shape(ReluGradShape)
      .Rules(ReluGradRules)
      .Computes(Precision::kNarrow)
      .Flops([](const NodeView& node) { return Cost(node) + Count(node.outputs[0].shape); });
}

}  // namespace partita
