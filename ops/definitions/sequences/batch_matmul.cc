// z[..,m,n] = sum over k of X[..,m,k] Y[..,k,n] for every index of the 1 to 3 dimensions before. X is x or, with
// transpose_x, x with its last two dimensions exchanged; likewise Y. As in numpy, one operand may have size 1 in such a
// dimension, or lack the first of them: one matrix then serves several products. Unlike those of matmul, both operands
// may depend on the sample: the scores and the contexts of an attention are such products.
//
//   samples, ...     a leading dimension d is split   (S(d), S(d))       -> S(d); R where one matrix serves all
//   the name of m    m is split                       (X S(m), R)        -> S(m)
//   output_channels  n is split                       (R, Y S(n))        -> S(n)
//   input_channels   k is split: partial sums         (X S(k), Y S(k))   -> P
//
// The gradients are products again: dX = dZ Y^T, dY = X^T dZ; that of a matrix that serves several is their sum.
#include <algorithm>

#include "ops/definitions/sequences/sequences.h"
#include "ops/forms/broadcast.h"
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
  const int x = static_cast<int>(node.inputs[0]->shape.size()) - 1;
  const int y = static_cast<int>(node.inputs[1]->shape.size()) - 1;
  const bool tx = node.attributes.Bool("transpose_x"), ty = node.attributes.Bool("transpose_y");
  return {tx ? x : x - 1, tx ? x - 1 : x, ty ? y : y - 1, ty ? y - 1 : y};
}

absl::Status CheckOperands(const NodeView& node) {
  RETURN_IF_ERROR(CheckFloating(node, 0, "x"));
  RETURN_IF_ERROR(CheckDType(node, 1, "y", node.inputs[0]->dtype));
  const Shape &x = node.inputs[0]->shape, &y = node.inputs[1]->shape;
  const size_t rank = std::max(x.size(), y.size());
  if (rank < 3 || rank > kMostDimensions || std::min(x.size(), y.size()) < 2) {
    return InvalidArgument(
        "inputs have shapes x {} and y {}; one of 3 to {} dimensions and one of at least 2 are needed "
        "(matmul multiplies matrices)",
        ToString(x), ToString(y), kMostDimensions);
  }
  for (size_t d = 0; d + 2 < rank; ++d) {
    const int64_t in_x = SizeAt(x, rank, d), in_y = SizeAt(y, rank, d);
    if (in_x != in_y && in_x != 1 && in_y != 1) {
      return InvalidArgument("input y has shape {}: {} stands where x {} has {}; the same size or 1 is needed",
                             ToString(y), in_y, ToString(x), in_x);
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<TensorType>> BatchMatMulShape(const NodeView& node) {
  RETURN_IF_ERROR(CheckOperands(node));
  const Dimensions at = DimensionsOf(node);
  const Shape &x = node.inputs[0]->shape, &y = node.inputs[1]->shape;
  if (x[at.x_k] != y[at.y_k]) {
    return InvalidArgument("input y has shape {}: its dimension {} must be {}, as dimension {} of x {}", ToString(y),
                           at.y_k, x[at.x_k], at.x_k, ToString(x));
  }
  const size_t rank = std::max(x.size(), y.size());
  Shape z;
  for (size_t d = 0; d + 2 < rank; ++d) z.push_back(std::max(SizeAt(x, rank, d), SizeAt(y, rank, d)));
  z.push_back(x[at.m]);
  z.push_back(y[at.n]);
  return std::vector<TensorType>{{node.inputs[0]->dtype, std::move(z)}};
}

// Of an operand where dimension d of z is split.
Pattern Leading(const Shape& operand, const Shape& z, size_t d) {
  const size_t lacking = z.size() - operand.size();
  const bool serves_all = d < lacking || operand[d - lacking] != z[d];
  return serves_all ? R() : S(static_cast<int>(d - lacking));
}

std::vector<Rule> BatchMatMulRules(const NodeView& node) {
  const Dimensions at = DimensionsOf(node);
  const Shape &x = node.inputs[0]->shape, &y = node.inputs[1]->shape, &z = node.outputs[0].shape;
  const int rank = static_cast<int>(z.size()), m = rank - 2, n = rank - 1;
  std::vector<Rule> rules;
  for (int d = 0; d < m; ++d) rules.push_back({DimensionName(rank, d), {Leading(x, z, d), Leading(y, z, d)}, {S(d)}});
  rules.push_back({DimensionName(rank, m), {S(at.m), R()}, {S(m)}});
  rules.push_back({"output_channels", {R(), S(at.n)}, {S(n)}});
  rules.push_back({"input_channels", {S(at.x_k), S(at.y_k)}, {P()}});
  rules.push_back(Partial({P(), R()}));
  rules.push_back(Partial({R(), P()}));
  return rules;
}

// The cotangent of an operand from those of the matrices that it served as, in f32 of bf16.
absl::StatusOr<ValueId> SumOfServed(GradientBuilder& builder, ValueId served, const TensorType& operand,
                                    const std::string& base) {
  const Shape shape = builder.graph().type(served).shape;
  IntList axes;
  for (size_t d = 0; d + 2 < shape.size(); ++d) {
    if (SizeAt(operand.shape, shape.size(), d) != shape[d]) axes.push_back(static_cast<int64_t>(d));
  }
  ValueId sum = served;
  if (!axes.empty()) {
    ASSIGN_OR_RETURN(sum, AddOne(builder, "sum", {sum}, {{"axes", axes}}, base));
  }
  if (builder.graph().type(sum).shape != operand.shape) {
    ASSIGN_OR_RETURN(sum, AddOne(builder, "reshape", {sum}, {{"shape", operand.shape}}, base));
  }
  if (builder.graph().type(sum).dtype == operand.dtype) return sum;
  return AddOne(builder, "cast", {sum}, {{"dtype", std::string(Name(operand.dtype))}}, base);
}

absl::StatusOr<ValueId> AddProduct(GradientBuilder& builder, ValueId x, bool transpose_x, ValueId y, bool transpose_y,
                                   ValueId of, const std::string& base) {
  const TensorType operand = builder.graph().type(of);
  ASSIGN_OR_RETURN(const ValueId product, AddOne(builder, "batch_matmul", {x, y},
                                                 {{"transpose_x", transpose_x}, {"transpose_y", transpose_y}}, base));
  return SumOfServed(builder, product, operand, base);
}

absl::StatusOr<std::vector<ValueId>> BatchMatMulGradient(GradientBuilder& builder, const Node& node,
                                                         const std::vector<ValueId>& cotangents,
                                                         const std::vector<bool>& wanted) {
  std::vector<ValueId> result(2, kNoValue);
  const ValueId x = node.inputs[0], y = node.inputs[1], dz = cotangents[0];
  const bool tx = node.attributes.Bool("transpose_x"), ty = node.attributes.Bool("transpose_y");
  if (wanted[0]) {
    const std::string base = InputName(builder, node, 0);
    ASSIGN_OR_RETURN(result[0], tx ? AddProduct(builder, y, ty, dz, true, x, base)      // Y dZ^T
                                   : AddProduct(builder, dz, false, y, !ty, x, base));  // dZ Y^T
  }
  if (wanted[1]) {
    const std::string base = InputName(builder, node, 1);
    ASSIGN_OR_RETURN(result[1], ty ? AddProduct(builder, dz, true, x, tx, y, base)      // dZ^T X
                                   : AddProduct(builder, x, !tx, dz, false, y, base));  // X^T dZ
  }
  return result;
}

double Cost(const NodeView& node) {
  return 2 * Count(node.outputs[0].shape) * static_cast<double>(node.inputs[0]->shape[DimensionsOf(node).x_k]);
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
