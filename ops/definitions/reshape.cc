// The same elements under another shape; one size may be -1 and follows from the others. The output is a view.
//
// Splits: both shapes fall into shortest runs of dimensions with equal products, e.g. [n,7,7,c] -> [n,49,c] into n|n,
// 7,7|49, c|c. In a run only the first dimension can be split, since a block of elements must stay a block: a row of
// one and a row of the other (7 elements, 1 element) meet every lcm elements, which is the unit of the split.
#include <numeric>

#include "ops/definitions/definitions.h"
#include "ops/forms/op_builder.h"
#include "ops/forms/op_checks.h"
#include "ops/forms/op_rules.h"
#include "runtime/base/status.h"

namespace partita {
namespace {

absl::StatusOr<Shape> ResolveShape(Shape shape, const Shape& x) {
  const Shape wanted = shape;
  int64_t* unknown = nullptr;
  int64_t known = 1;
  for (size_t d = 0; d < shape.size(); ++d) {
    if (shape[d] == -1 && unknown != nullptr) {
      return InvalidArgument("attribute shape is {}; its sizes {} and {} are -1, expected at most one -1",
                             ToString(wanted), unknown - shape.data(), d);
    }
    if (shape[d] == -1) {
      unknown = &shape[d];
    } else if (shape[d] < 1) {
      return InvalidArgument("attribute shape is {}; its size {} is {}, expected at least 1, or -1 once",
                             ToString(wanted), d, shape[d]);
    } else if (__builtin_mul_overflow(known, shape[d], &known)) {
      return InvalidArgument("attribute shape is {}; its elements do not fit in 64 bits", ToString(wanted));
    }
  }
  const int64_t elements = Elements(x);
  if (unknown != nullptr && elements % known == 0) *unknown = elements / known;
  if (unknown != nullptr ? elements % known != 0 : elements != known) {
    return InvalidArgument("attribute shape is {}; input x has shape {} with {} elements, which do not fill it",
                           ToString(shape), ToString(x), elements);
  }
  return shape;
}

absl::StatusOr<std::vector<TensorType>> ReshapeShape(const NodeView& node) {
  const Shape& wanted = node.attributes.Ints("shape");
  if (wanted.size() > kMaxRank) {
    return InvalidArgument("attribute shape has {} dimensions; at most {} are allowed", wanted.size(), kMaxRank);
  }
  ASSIGN_OR_RETURN(Shape shape, ResolveShape(wanted, node.inputs[0]->shape));
  return std::vector<TensorType>{{node.inputs[0]->dtype, std::move(shape)}};
}

// Dimensions of more than one element.
std::vector<int> Proper(const Shape& shape) {
  std::vector<int> dimensions;
  for (size_t d = 0; d < shape.size(); ++d) {
    if (shape[d] > 1) dimensions.push_back(static_cast<int>(d));
  }
  return dimensions;
}

std::vector<Rule> ReshapeRules(const NodeView& node) {
  const Shape& x = node.inputs[0]->shape;
  const Shape& y = node.outputs[0].shape;
  const std::vector<int> in = Proper(x), out = Proper(y);
  std::vector<Rule> rules;
  for (size_t i = 0, o = 0; i < in.size();) {
    const int first_in = in[i], first_out = out[o];
    int64_t elements_in = x[in[i++]], elements_out = y[out[o++]];
    while (elements_in != elements_out) {
      if (elements_in < elements_out) {
        elements_in *= x[in[i++]];
      } else {
        elements_out *= y[out[o++]];
      }
    }
    const int64_t row_in = elements_in / x[first_in], row_out = elements_in / y[first_out];
    const int64_t unit = std::lcm(row_in, row_out);
    if (unit == elements_in) continue;
    rules.push_back({DimensionName(static_cast<int>(x.size()), first_in),
                     {S(first_in, unit / row_in)},
                     {S(first_out, unit / row_out)}});
  }
  if (IsFloating(node.inputs[0]->dtype)) rules.push_back(Partial({P()}));
  return rules;
}

absl::StatusOr<std::vector<ValueId>> ReshapeGradient(GradientBuilder& builder, const Node& node,
                                                     const std::vector<ValueId>& cotangents,
                                                     const std::vector<bool>& wanted) {
  if (!wanted[0]) return std::vector<ValueId>{kNoValue};
  ASSIGN_OR_RETURN(const ValueId dx, AddOne(builder, "reshape", {cotangents[0]},
                                            {{"shape", InputShape(builder, node, 0)}}, InputName(builder, node, 0)));
  return std::vector<ValueId>{dx};
}

}  // namespace

OpDefinition ReshapeOp() {
  return Op("reshape")
      .Inputs({"x"})
      .Required("shape", IntList())
      .Shape(ReshapeShape)
      .Rules(ReshapeRules)
      .Gradient(ReshapeGradient)
      .Computes(Precision::kFollows)
      .View();
}

}  // namespace partita
