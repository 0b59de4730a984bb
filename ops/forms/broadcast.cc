#include "ops/forms/broadcast.h"

#include <algorithm>

#include "ops/forms/op_checks.h"
#include "ops/forms/op_rules.h"
#include "runtime/base/status.h"

namespace partita {
absl::StatusOr<TensorType> BroadcastType(const NodeView& node, const std::vector<std::string>& names) {
  RETURN_IF_ERROR(CheckFloating(node, 0, names[0]));
  TensorType whole = *node.inputs[0];
  for (size_t i = 1; i < node.inputs.size(); ++i) {
    RETURN_IF_ERROR(CheckDType(node, static_cast<int>(i), names[i], whole.dtype));
    const Shape &x = node.inputs[i]->shape, before = whole.shape;
    const size_t rank = std::max(x.size(), before.size());
    whole.shape = Shape(rank, 1);
    for (size_t d = 0; d < rank; ++d) {
      const int64_t one = SizeAt(before, rank, d), other = SizeAt(x, rank, d);
      if (one != other && one != 1 && other != 1) {
        return InvalidArgument(
            "input {} has shape {}; {} is needed, the same as before it, or that with sizes of 1 or without its first "
            "dimensions",
            names[i], ToString(x), ToString(before));
      }
      whole.shape[d] = std::max(one, other);
    }
  }
  return whole;
}

int64_t SizeAt(const Shape& x, size_t rank, size_t d) {
  const size_t lacking = rank - x.size();
  return d < lacking ? 1 : x[d - lacking];
}

IntList BroadcastAxes(const Shape& x, const Shape& whole) {
  IntList axes;
  for (size_t d = 0; d < whole.size(); ++d) {
    const bool lacks = d < whole.size() - x.size();
    if (lacks || SizeAt(x, whole.size(), d) != whole[d]) axes.push_back(static_cast<int64_t>(d));
  }
  return axes;
}

std::vector<Rule> BroadcastRules(const NodeView& node) {
  const Shape& whole = node.outputs[0].shape;
  const int rank = static_cast<int>(whole.size());
  std::vector<Rule> rules = EveryDimension(rank, std::vector<bool>(node.inputs.size(), true));
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    const Shape& x = node.inputs[i]->shape;
    const int lacking = rank - static_cast<int>(x.size());
    for (int d = 0; d < rank; ++d) rules[d].inputs[i] = S(d - lacking);
    for (const int64_t axis : BroadcastAxes(x, whole)) rules[axis].inputs[i] = R();
  }
  return rules;
}

}  // namespace partita
