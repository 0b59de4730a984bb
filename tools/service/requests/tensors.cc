#include "tools/service/requests/tensors.h"

#include <fmt/ranges.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "graph/value/node_name.h"
#include "runtime/base/status.h"

namespace partita::service {
namespace {

absl::StatusOr<api::Type> TypeOf(v1::TensorType type, const std::string& name) {
  switch (type) {
    case v1::F32:
      return api::Type::kF32;
    case v1::F64:
      return api::Type::kF64;
    case v1::I32:
      return api::Type::kI32;
    case v1::U8:
      return api::Type::kU8;
    default:
      return InvalidArgument("field {}: type is {}; expected F32, F64, I32 or U8", Quoted(name),
                             static_cast<int>(type));
  }
}

v1::TensorType TypeOf(api::Type type) {
  switch (type) {
    case api::Type::kF64:
      return v1::F64;
    case api::Type::kI32:
      return v1::I32;
    case api::Type::kU8:
      return v1::U8;
    case api::Type::kF32:
      break;
  }
  return v1::F32;
}

int64_t SizeOf(api::Type type) { return type == api::Type::kF64 ? 8 : type == api::Type::kU8 ? 1 : 4; }

// Whether a tensor of this shape has that many bytes; no product is larger than them.
bool HasBytes(const std::vector<int64_t>& shape, int64_t element, int64_t bytes) {
  int64_t needed = element;
  for (const int64_t size : shape) {
    if (size < 1 || needed > bytes / size) return false;
    needed *= size;
  }
  return needed == bytes;
}

}  // namespace

absl::StatusOr<api::Fields> FieldsOf(const v1::PredictRequest& request) {
  api::Fields fields;
  for (const auto& [name, tensor] : request.fields()) {
    ASSIGN_OR_RETURN(const api::Type type, TypeOf(tensor.type(), name));
    std::vector<int64_t> shape(tensor.shape().begin(), tensor.shape().end());
    if (!HasBytes(shape, SizeOf(type), static_cast<int64_t>(tensor.data().size()))) {
      return InvalidArgument("field {}: {} bytes for the shape [{}] of {}; expected positive sizes and all their bytes",
                             Quoted(name), tensor.data().size(), fmt::join(shape, ","),
                             v1::TensorType_Name(tensor.type()));
    }
    fields.emplace(name, api::View(type, std::move(shape), tensor.data().data()));
  }
  return fields;
}

v1::Tensor ToMessage(const api::Tensor& tensor) {
  v1::Tensor message;
  message.set_type(TypeOf(tensor.type));
  message.mutable_shape()->Add(tensor.shape.begin(), tensor.shape.end());
  message.set_data(tensor.bytes.data(), tensor.bytes.size());
  return message;
}

}  // namespace partita::service
