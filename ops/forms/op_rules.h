// Rules that many ops share (rule: graph/ir/op_definition.h), and small helpers of gradients and costs.
#ifndef PARTITA_OPS_FORMS_OP_RULES_H_
#define PARTITA_OPS_FORMS_OP_RULES_H_

#include <string>
#include <vector>

#include "graph/ir/op_definition.h"

namespace partita {

// What a strategy file calls dimension `dimension` of an activation of `rank` dimensions: "samples" for the first,
// "channels" for the last of two or more, "height" and "width" between them if there are four, "dimension<d>" else.
std::string DimensionName(int rank, int dimension);

// One rule for each dimension: the inputs with follows[i] and all outputs are split there, the other inputs are R.
std::vector<Rule> EveryDimension(int rank, const std::vector<bool>& follows, int outputs = 1);

// The rule of a linear op: `inputs` and the only output are P where they are not R.
Rule Partial(std::vector<Pattern> inputs);

// Elements as a floating-point number, for costs.
double Count(const Shape& shape);

// Appends `op`, which has one output.
absl::StatusOr<ValueId> AddOne(GradientBuilder& builder, const std::string& op, std::vector<ValueId> inputs,
                               Attributes attributes, const std::string& base);

// The name of input `index` of `node`: the base of its cotangent's name.
std::string InputName(const GradientBuilder& builder, const Node& node, int index);
Shape InputShape(const GradientBuilder& builder, const Node& node, int index);

// The attributes of `node` and `shape`: what the gradient of a window op needs.
Attributes WithShape(const Node& node, const Shape& shape);

}  // namespace partita

#endif  // PARTITA_OPS_FORMS_OP_RULES_H_
