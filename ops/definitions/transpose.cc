// y[i_p(0),...,i_p(r-1)] = x[i_0,...,i_(r-1)]: dimension d of y is dimension permutation[d] of x. Any element type, up
// to 4 dimensions; every dimension may be split. The gradient is the transpose back.
#include <algorithm>

#include "ops/definitions/definitions.h"
#include "ops/forms/op_builder.h"
#include "ops/forms/op_checks.h"
#include "ops/forms/op_rules.h"
#include "runtime/base/status.h"

namespace partita {
namespace {

constexpr size_t kMostDimensions = 4;

// The place of each dimension of x in y; a dimension that the permutation does not name has none, -1.
IntList PlacesOf(const IntList& permutation) {
  IntList places(permutation.size(), -1);
  for (size_t d = 0; d < permutation.size(); ++d) {
    const int64_t of = permutation[d];
    if (of >= 0 && of < static_cast<int64_t>(places.size())) places[of] = static_cast<int64_t>(d);
  }
  return places;
}

absl::Status CheckPermutation(const Attributes& attributes, const Shape& x) {
  if (x.empty() || x.size() > kMostDimensions) {
    return InvalidArgument("input x has shape {}; 1 to {} dimensions are needed", ToString(x), kMostDimensions);
  }
  const IntList& permutation = attributes.Ints("permutation");
  const IntList places = PlacesOf(permutation);
  if (permutation.size() == x.size() && std::find(places.begin(), places.end(), -1) == places.end()) {
    return absl::OkStatus();
  }
  return InvalidArgument("attribute permutation is {}; each of 0 to {} is needed once, as x has shape {}",
                         ToString(permutation), x.size() - 1, ToString(x));
}

absl::StatusOr<std::vector<TensorType>> TransposeShape(const NodeView& node) {
  const TensorType& x = *node.inputs[0];
  RETURN_IF_ERROR(CheckPermutation(node.attributes, x.shape));
  Shape y;
  for (const int64_t of : node.attributes.Ints("permutation")) y.push_back(x.shape[of]);
  return std::vector<TensorType>{{x.dtype, std::move(y)}};
}

std::vector<Rule> TransposeRules(const NodeView& node) {
  const IntList places = PlacesOf(node.attributes.Ints("permutation"));
  std::vector<Rule> rules = EveryDimension(static_cast<int>(places.size()), {true});
  for (Rule& rule : rules) rule.outputs[0] = S(static_cast<int>(places[rule.inputs[0].dimension]));
  if (IsFloating(node.inputs[0]->dtype)) rules.push_back(Partial({P()}));
  return rules;
}

absl::StatusOr<std::vector<ValueId>> TransposeGradient(GradientBuilder& builder, const Node& node,
                                                       const std::vector<ValueId>& cotangents,
                                                       const std::vector<bool>& wanted) {
  if (!wanted[0]) return std::vector<ValueId>{kNoValue};
  const Attributes back = {{"permutation", PlacesOf(node.attributes.Ints("permutation"))}};
  ASSIGN_OR_RETURN(const ValueId dx, AddOne(builder, "transpose", {cotangents[0]}, back, InputName(builder, node, 0)));
  return std::vector<ValueId>{dx};
}

}  // namespace

OpDefinition TransposeOp() {
  return Op("transpose")
      .Inputs({"x"})
      .Required("permutation", IntList())
      .Shape(TransposeShape)
      .Rules(TransposeRules)
      .Gradient(TransposeGradient)
      .Computes(Precision::kFollows);
}

}  // namespace partita
