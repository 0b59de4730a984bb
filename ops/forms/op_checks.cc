#include "ops/forms/op_checks.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "graph/value/node_name.h"
#include "ops/forms/op_builder.h"
#include "runtime/base/status.h"

namespace partita {

absl::Status CheckRank(const NodeView& node, int index, const std::string& name, const std::vector<int>& ranks,
                       const std::string& form) {
  const Shape& shape = node.inputs[index]->shape;
  if (std::find(ranks.begin(), ranks.end(), static_cast<int>(shape.size())) != ranks.end()) return absl::OkStatus();
  return InvalidArgument("input {} has shape {}; {} is needed", name, ToString(shape), form);
}

absl::Status CheckShape(const NodeView& node, int index, const std::string& name, const Shape& expected,
                        const std::string& form) {
  const Shape& shape = node.inputs[index]->shape;
  if (shape == expected) return absl::OkStatus();
  return InvalidArgument("input {} has shape {}; {} is needed ({})", name, ToString(shape), ToString(expected), form);
}

absl::Status CheckDType(const NodeView& node, int index, const std::string& name, DType expected) {
  const DType dtype = node.inputs[index]->dtype;
  if (dtype == expected) return absl::OkStatus();
  return InvalidArgument("input {} has element type {}; {} is needed", name, Name(dtype), Name(expected));
}

absl::Status CheckFloating(const NodeView& node, int index, const std::string& name) {
  const DType dtype = node.inputs[index]->dtype;
  if (IsFloating(dtype)) return absl::OkStatus();
  return InvalidArgument("input {} has element type {}; f32 or f64 is needed (a cast makes one)", name, Name(dtype));
}

absl::Status CheckLike(const NodeView& node, int index, const std::string& name, const Shape& expected,
                       const std::string& form) {
  if (node.inputs[index] == nullptr) return absl::OkStatus();
  RETURN_IF_ERROR(CheckDType(node, index, name, node.inputs[0]->dtype));
  return CheckShape(node, index, name, expected, form);
}

absl::Status CheckApply(const NodeView& node, int index) {
  if (node.inputs[index] == nullptr) return absl::OkStatus();
  RETURN_IF_ERROR(CheckDType(node, index, "apply", DType::kI32));
  return CheckShape(node, index, "apply", {}, "a scalar");
}

absl::Status CheckInts(const Attributes& attributes, const std::string& name, size_t count, int64_t least) {
  const IntList& values = attributes.Ints(name);
  if (values.size() != count) {
    return InvalidArgument("attribute {} has {} numbers; {} are needed", name, values.size(), count);
  }
  for (const int64_t value : values) {
    if (value < least) {
      return InvalidArgument("attribute {} is {}; each number must be at least {}", name, ToString(values), least);
    }
  }
  return absl::OkStatus();
}

absl::Status CheckNumber(const Attributes& attributes, const std::string& name, double least, double below) {
  const double value = attributes.Float(name);
  if (std::isfinite(value) && value >= least && value < below) return absl::OkStatus();
  if (std::isfinite(below)) {
    return InvalidArgument("attribute {} is {}; it must be at least {} and less than {}", name, value, least, below);
  }
  return std::isfinite(least)
             ? InvalidArgument("attribute {} is {}; it must be finite and at least {}", name, value, least)
             : InvalidArgument("attribute {} is {}; it must be finite", name, value);
}

absl::Status CheckFraction(const Attributes& attributes, const std::string& name) {
  const double value = attributes.Float(name);
  if (value >= 0 && value <= 1) return absl::OkStatus();
  return InvalidArgument("attribute {} is {}; it must lie between 0 and 1", name, value);
}

absl::Status CheckPositive(const Attributes& attributes, const std::string& name) {
  const double value = attributes.Float(name);
  if (std::isfinite(value) && value > 0) return absl::OkStatus();
  return InvalidArgument("attribute {} is {}; it must be finite and greater than 0", name, value);
}

absl::Status CheckAtLeast(const Attributes& attributes, const std::string& name, int64_t least) {
  const int64_t value = attributes.Int(name);
  if (value >= least) return absl::OkStatus();
  return InvalidArgument("attribute {} is {}; it must be at least {}", name, value, least);
}

absl::Status CheckChoice(const Attributes& attributes, const std::string& name,
                         const std::vector<std::string>& choices) {
  const std::string& value = attributes.String(name);
  if (std::find(choices.begin(), choices.end(), value) != choices.end()) return absl::OkStatus();
  const std::optional<std::string> nearest = NearestName(value, choices);
  const std::string hint = nearest ? fmt::format("; did you mean {}?", *nearest) : "";
  return InvalidArgument("attribute {} is '{}'; allowed are {}{}", name, value, fmt::join(choices, ", "), hint);
}

absl::StatusOr<DType> DTypeAttribute(const Attributes& attributes) {
  std::vector<std::string> names;
  for (const DType dtype : kDTypes) names.push_back(Name(dtype));
  RETURN_IF_ERROR(CheckChoice(attributes, "dtype", names));
  return *ParseDType(attributes.String("dtype"));
}

absl::StatusOr<Shape> ShapeAttribute(const Attributes& attributes, int least_rank) {
  const Shape& shape = attributes.Ints("shape");
  if (shape.size() < static_cast<size_t>(least_rank) || shape.size() > kMaxRank) {
    return InvalidArgument("attribute shape has {} dimensions; {} to {} are allowed", shape.size(), least_rank,
                           kMaxRank);
  }
  RETURN_IF_ERROR(CheckInts(attributes, "shape", shape.size(), 1));
  RETURN_IF_ERROR(WithContext("attribute shape", CheckedElements(shape).status()));
  return shape;
}

}  // namespace partita
