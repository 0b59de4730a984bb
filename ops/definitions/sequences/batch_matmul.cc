// z[..,m,n] = sum over k of X[..,m,k] Y[..,k,n] for every index of 1 to 3 leading dimensions, which x and y share. X is
// x or, with transpose_x, x with its last two dimensions exchanged; likewise Y. Unlike those of matmul, both operands
// may depend on the sample: the scores and the contexts of an attention are such products.
//
//   samples, ...     a leading dimension d is split   (S(d), S(d))       -> S(d)
//   the name of m    m is split                       (X S(m), R)        -> S(m)
//   output_channels  n is split                       (R, Y S(n))        -> S(n)
//   input_channels   k is split: partial sums         (X S(k), Y S(k))   -> P
//
// The gradients are products again: dX = dZ Y^T, dY = X^T dZ.
#include <algorithm>

#include "ops/definitions/sequences/sequences.h"
#include "ops/forms/op_builder.h"
#include "ops/forms/op_checks.h"
#include "ops/forms/op_rules.h"
#include "runtime/base/status.h"

namespace partita {
namespace {

constexpr size_t kMostDimensions = 5;

// Which dimension of x and y is which.
struct Dimensions {
  int m, x_k, y_k, n;
};

Dimensions DimensionsOf(const NodeView& node) {
  const int last = static_cast<int>(node.inputs[0]->shape.size()) - 1;
  const bool tx = node.attributes.Bool("transpose_x"), ty = node.attributes.Bool("transpose_y");
  return {tx ? last : last - 1, tx ? last - 1 : last, ty ? last : last - 1, ty ? last - 1 : last};
}

absl::Status CheckOperands(const NodeView& node) {
  RETURN_IF_ERROR(CheckFloating(node, 0, "x"));
  RETURN_IF_ERROR(CheckDType(node, 1, "y", node.inputs[0]->dtype));
  const Shape &x = node.inputs[0]->shape, &y = node.inputs[1]->shape;
  if (x.size() < 3 || x.size() > kMostDimensions) {
    return InvalidArgument("input x has shape {}; 3 to {} dimensions are needed (matmul multiplies by a matrix)",
                           ToString(x), kMostDimensions);
  }
  if (y.size() == x.size() && std::equal(x.begin(), x.end() - 2, y.begin())) return absl::OkStatus();
  return InvalidArgument("input y has shape {}; {} dimensions are needed, all but the last two as those of x {}",
                         ToString(y), x.size(), ToString(x));
}

absl::StatusOr<std::vector<TensorType>> BatchMatMulShape(const NodeView& node) {
  RETURN_IF_ERROR(CheckOperands(node));
  const Dimensions at = DimensionsOf(node);
  const Shape &x = node.inputs[0]->shape, &y = node.inputs[1]->shape;
  if (x[at.x_k] != y[at.y_k]) {
    return InvalidArgument("input y has shape {}: its dimension {} must be {}, as dimension {} of x {}", ToString(y),
                           at.y_k, x[at.x_k], at.x_k, ToString(x));
  }
  Shape z(x.begin(), x.end() - 2);
  z.push_back(x[at.m]);
  z.push_back(y[at.n]);
  return std::vector<TensorType>{{node.inputs[0]->dtype, std::move(z)}};
}

std::vector<Rule> BatchMatMulRules(const NodeView& node) {
  const Dimensions at = DimensionsOf(node);
  const int rank = static_cast<int>(node.inputs[0]->shape.size()), m = rank - 2, n = rank - 1;
  std::vector<Rule> rules;
  for (int d = 0; d < m; ++d) rules.push_back({DimensionName(rank, d), {S(d), S(d)}, {S(d)}});
  rules.push_back({DimensionName(rank, m), {S(at.m), R()}, {S(m)}});
  rules.push_back({"output_channels", {R(), S(at.n)}, {S(n)}});
  rules.push_back({"input_channels", {S(at.x_k), S(at.y_k)}, {P()}});
  rules.push_back(Partial({P(), R()}));
  rules.push_back(Partial({R(), P()}));
  return rules;
}

absl::StatusOr<ValueId> AddProduct(GradientBuilder& builder, ValueId x, bool transpose_x, ValueId y, bool transpose_y,
                                   const std::string& base) {
  return AddOne(builder, "batch_matmul", {x, y}, {{"transpose_x", transpose_x}, {"transpose_y", transpose_y}}, base);
}

absl::StatusOr<std::vector<ValueId>> BatchMatMulGradient(GradientBuilder& builder, const Node& node,
                                                         const std::vector<ValueId>& cotangents,
                                                         const std::vector<bool>& wanted) {
  std::vector<ValueId> result(2, kNoValue);
  const ValueId x = node.inputs[0], y = node.inputs[1], dz = cotangents[0];
  const bool tx = node.attributes.Bool("transpose_x"), ty = node.attributes.Bool("transpose_y");
  if (wanted[0]) {
    const std::string base = InputName(builder, node, 0);
    ASSIGN_OR_RETURN(result[0], tx ? AddProduct(builder, y, ty, dz, true, base)      // Y dZ^T
                                   : AddProduct(builder, dz, false, y, !ty, base));  // dZ Y^T
  }
  if (wanted[1]) {
    const std::string base = InputName(builder, node, 1);
    ASSIGN_OR_RETURN(result[1], ty ? AddProduct(builder, dz, true, x, tx, base)      // dZ^T X
                                   : AddProduct(builder, x, !tx, dz, false, base));  // X^T dZ
  }
  return result;
}

double Cost(const NodeView& node) {
  const Dimensions at = DimensionsOf(node);
  return 2 * Count(node.inputs[0]->shape) * static_cast<double>(node.inputs[1]->shape[at.n]);
}

}  // namespace

OpDefinition BatchMatMulOp() {
  return Op("batch_matmul")
      .Inputs({"x", "y"})
      .Attribute("transpose_x", false)
      .Attribute("transpose_y", false)
      .Shape(BatchMatMulShape)
      .Rules(BatchMatMulRules)
      .Gradient(BatchMatMulGradient)
      .Computes(Precision::kNarrow)
      .Flops(Cost);
}

}  // namespace partita
