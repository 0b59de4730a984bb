// Checks of inputs and attributes for shape functions, with their error messages. A message names the input or
// attribute, what was found and what is allowed; the caller puts the node's name before it.
#ifndef PARTITA_OPS_FORMS_OP_CHECKS_H_
#define PARTITA_OPS_FORMS_OP_CHECKS_H_

#include <limits>
#include <string>
#include <vector>

#include "graph/ir/op_definition.h"

namespace partita {

// Inputs. `name` is that of input `index`; `form` describes what is allowed: "[n,h,w,c]".
absl::Status CheckRank(const NodeView& node, int index, const std::string& name, const std::vector<int>& ranks,
                       const std::string& form);
absl::Status CheckShape(const NodeView& node, int index, const std::string& name, const Shape& expected,
                        const std::string& form);
absl::Status CheckDType(const NodeView& node, int index, const std::string& name, DType expected);
absl::Status CheckFloating(const NodeView& node, int index, const std::string& name);
// Shape `expected`, element type that of input 0; does nothing if the (optional) input is absent.
absl::Status CheckLike(const NodeView& node, int index, const std::string& name, const Shape& expected,
                       const std::string& form);

// The gate of what a node updates: i32[]; does nothing if it is absent.
absl::Status CheckApply(const NodeView& node, int index);

// Attributes.
// `count` numbers, each at least `least`.
absl::Status CheckInts(const Attributes& attributes, const std::string& name, size_t count, int64_t least);
// A finite number with least <= value, and value < below.
absl::Status CheckNumber(const Attributes& attributes, const std::string& name, double least,
                         double below = std::numeric_limits<double>::infinity());
// 0 <= value <= 1
absl::Status CheckFraction(const Attributes& attributes, const std::string& name);
// Positive and finite.
absl::Status CheckPositive(const Attributes& attributes, const std::string& name);
absl::Status CheckAtLeast(const Attributes& attributes, const std::string& name, int64_t least);
// One of `choices`, else "did you mean".
absl::Status CheckChoice(const Attributes& attributes, const std::string& name,
                         const std::vector<std::string>& choices);
absl::StatusOr<DType> DTypeAttribute(const Attributes& attributes);
// The attribute `shape` as a type: rank at least `least_rank`, sizes positive, elements in range.
absl::StatusOr<Shape> ShapeAttribute(const Attributes& attributes, int least_rank = 0);

}  // namespace partita

#endif  // PARTITA_OPS_FORMS_OP_CHECKS_H_
