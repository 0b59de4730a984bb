#include "partita/convert.h"

#include <cstddef>
#include <cstring>

#include "run/spec/spec_error.h"
#include "runtime/base/check.h"
#include "runtime/base/status.h"

namespace partita::api {
namespace {

ErrorCode CodeOf(absl::StatusCode code) {
  switch (code) {
    case absl::StatusCode::kInvalidArgument:
      return ErrorCode::kInvalidArgument;
    case absl::StatusCode::kResourceExhausted:
      return ErrorCode::kDoesNotFit;
    case absl::StatusCode::kOutOfRange:
      return ErrorCode::kNotFinite;
    case absl::StatusCode::kCancelled:
      return ErrorCode::kCancelled;
    case absl::StatusCode::kUnavailable:
      return ErrorCode::kUnavailable;
    case absl::StatusCode::kFailedPrecondition:
      return ErrorCode::kMisuse;
    default:
      return ErrorCode::kInternal;
  }
}

struct AttributeConverter {
  partita::Attribute operator()(const std::vector<int64_t>& integers) const {
    return IntList(integers.begin(), integers.end());
  }
  template <typename T>
  partita::Attribute operator()(const T& value) const {
    return value;
  }
};

// Errors of the description name the trainer's flags; callers of the library have settings of the same names.
std::string AsSettings(std::string message) {
  for (const char* const before : {"flag --", "flags --"}) {
    for (size_t at = message.find(before); at != std::string::npos; at = message.find(before, at)) {
      message.replace(at, std::strlen(before), std::strlen(before) == 7 ? "setting " : "settings ");
    }
  }
  for (size_t at = message.find(" --"); at != std::string::npos; at = message.find(" --", at)) message.erase(at + 1, 2);
  return message;
}

}  // namespace

Error ErrorOf(const absl::Status& status) {
  CHECK(!status.ok());
  const std::string message(status.message());
  return {CodeOf(status.code()), status.GetPayload(kFlagErrorPayload) ? AsSettings(message) : message};
}

Outcome OutcomeOf(const absl::Status& status) { return status.ok() ? Outcome() : ErrorOf(status); }

absl::StatusOr<Type> TypeOf(DType dtype) {
  switch (dtype) {
    case DType::kF32:
      return Type::kF32;
    case DType::kF64:
      return Type::kF64;
    case DType::kI32:
      return Type::kI32;
    case DType::kU8:
      return Type::kU8;
    default:
      return InvalidArgument("a tensor of {} cannot leave the runtime", Name(dtype));
  }
}

namespace {

DType DTypeOf(Type type) {
  switch (type) {
    case Type::kF32:
      return DType::kF32;
    case Type::kF64:
      return DType::kF64;
    case Type::kI32:
      return DType::kI32;
    case Type::kU8:
      return DType::kU8;
  }
  return DType::kF32;
}

}  // namespace

ConstTensor ConstTensorOf(const View& view) {
  return {DTypeOf(view.type), Shape(view.shape.begin(), view.shape.end()), view.data};
}

absl::StatusOr<Tensor> TensorOf(const HostTensor& tensor) {
  Tensor result;
  ASSIGN_OR_RETURN(result.type, TypeOf(tensor.dtype));
  result.shape.assign(tensor.shape.begin(), tensor.shape.end());
  const auto* const bytes = reinterpret_cast<const std::byte*>(tensor.bytes.data());
  result.bytes.assign(bytes, bytes + tensor.bytes.size());
  return result;
}

partita::Attributes AttributesOf(const Attributes& attributes) {
  partita::Attributes converted;
  for (const auto& [name, value] : attributes) converted.Set(name, std::visit(AttributeConverter(), value));
  return converted;
}

}  // namespace partita::api
