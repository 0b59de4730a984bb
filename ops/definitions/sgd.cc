// Stochastic gradient descent, with PyTorch's meaning of momentum. rate, clip (optional) are scalars.
//   g' = clip g + weight_decay w
//   sgd(w, g, rate, clip?)             w' = w - rate g'
//   sgd_momentum(w, g, m, rate, clip?) m' = momentum m + g';  w' = w - rate (nesterov ? g' + momentum m' : m')
// All tensors are split alike; w' and m' take the places of w and m.
#include "ops/definitions/definitions.h"
#include "ops/forms/op_builder.h"
#include "ops/forms/op_checks.h"
#include "ops/forms/op_rules.h"
#include "runtime/base/status.h"

namespace partita {
namespace {

// Inputs `tensors` are like w, then the rate and the optional clip.
ShapeFunction UpdateShape(const std::vector<std::string>& tensors) {
  return [tensors](const NodeView& node) -> absl::StatusOr<std::vector<TensorType>> {
    RETURN_IF_ERROR(CheckFloating(node, 0, "w"));
    const int count = static_cast<int>(tensors.size());
    for (int i = 1; i < count; ++i) {
      RETURN_IF_ERROR(CheckLike(node, i, tensors[i], node.inputs[0]->shape, "the same as w"));
    }
    RETURN_IF_ERROR(CheckLike(node, count, "rate", {}, "a scalar"));
    RETURN_IF_ERROR(CheckLike(node, count + 1, "clip", {}, "a scalar"));
    RETURN_IF_ERROR(CheckNumber(node.attributes, "weight_decay", 0));
    if (count == 3) RETURN_IF_ERROR(CheckNumber(node.attributes, "momentum", 0, 1));
    return std::vector<TensorType>(count - 1, *node.inputs[0]);
  };
}

int Rank(const NodeView& node) { return static_cast<int>(node.inputs[0]->shape.size()); }

std::vector<Rule> NumberedDimensions(std::vector<Rule> rules) {
  for (size_t d = 0; d < rules.size(); ++d) rules[d].name = fmt::format("dimension{}", d);
  return rules;
}

}  // namespace

OpDefinition SgdOp() {
  return Op("sgd")
      .Internal()
      .Inputs({"w", "g", "rate"})
      .Optional("clip")
      .Attribute("weight_decay", 0.0)
      .Shape(UpdateShape({"w", "g"}))
      .Rules([](const NodeView& node) {
        return NumberedDimensions(EveryDimension(Rank(node), {true, true, false, false}));
      })
      .Flops([](const NodeView& node) { return 4 * Count(node.inputs[0]->shape); })
      .InPlace(0, 0)
      .Together({2, 3});
}

OpDefinition SgdMomentumOp() {
  return Op("sgd_momentum")
      .Internal()
      .Inputs({"w", "g", "m", "rate"})
      .Optional("clip")
      .Required("momentum", 0.0)
      .Attribute("weight_decay", 0.0)
      .Attribute("nesterov", false)
      .Outputs(2)
      .Shape(UpdateShape({"w", "g", "m"}))
      .Rules([](const NodeView& node) {
        return NumberedDimensions(EveryDimension(Rank(node), {true, true, true, false, false}, 2));
      })
      .Flops([](const NodeView& node) { return 8 * Count(node.inputs[0]->shape); })
      .InPlace(0, 0)
      .InPlace(2, 1)
      .Together({3, 4});
}

}  // namespace partita
