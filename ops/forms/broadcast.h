// numpy's broadcasting of the inputs of an element-wise op: aligned at their last dimensions, an input may have size 1
// where the result has more, or lack the first dimensions. It is the same along these.
#ifndef PARTITA_OPS_FORMS_BROADCAST_H_
#define PARTITA_OPS_FORMS_BROADCAST_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "graph/ir/op_definition.h"

namespace partita {

// The result's type: that of the first input in the shape of all. `names` are those of the inputs.
absl::StatusOr<TensorType> BroadcastType(const NodeView& node, const std::vector<std::string>& names);

// One rule for each dimension of the result: the inputs are split there, R where they are the same along it.
std::vector<Rule> BroadcastRules(const NodeView& node);

// The size that an input of shape `x` has where a result of `rank` dimensions has dimension d: 1 if it lacks it.
int64_t SizeAt(const Shape& x, size_t rank, size_t d);

// The dimensions of a result of shape `whole` along which an input of shape `x` is the same.
IntList BroadcastAxes(const Shape& x, const Shape& whole);

}  // namespace partita

#endif  // PARTITA_OPS_FORMS_BROADCAST_H_
