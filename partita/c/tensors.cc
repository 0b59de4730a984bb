// Tensors that callers pass, and values that calls return; both also as DLPack has them.
#include <dlpack/dlpack.h>
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "partita/c/objects.h"
#include "partita/c/structs.h"

namespace partita::c {
namespace {

using api::Outcome;
using api::Type;

struct TypeNames {
  partita_type type;
  Type element;
  DLDataType dlpack;
};
constexpr TypeNames kTypes[] = {
    {PARTITA_F32, Type::kF32, {kDLFloat, 32, 1}},
    {PARTITA_F64, Type::kF64, {kDLFloat, 64, 1}},
    {PARTITA_I32, Type::kI32, {kDLInt, 32, 1}},
    {PARTITA_U8, Type::kU8, {kDLUInt, 8, 1}},
};

const TypeNames& NamesOf(Type element) { return *std::ranges::find(kTypes, element, &TypeNames::element); }

Outcome TensorAt(const partita_values& values, size_t index, partita_tensor* tensor) {
  if (const Outcome wrong = CheckSize(tensor, "tensor")) return wrong;
  if (index >= values.tensors.size()) {
    return Invalid(fmt::format("index is {}; there are {} values", index, values.tensors.size()));
  }
  const auto& [name, value] = values.tensors[index];
  WriteStruct(TensorOf(name, value.type, value.shape, value.bytes.data()), tensor);
  return std::nullopt;
}

bool IsDense(const DLTensor& tensor) {
  if (tensor.strides == nullptr) return true;
  int64_t stride = 1;
  for (int d = tensor.ndim - 1; d >= 0; --d) {
    if (tensor.shape[d] != 1 && tensor.strides[d] != stride) return false;
    stride *= tensor.shape[d];
  }
  return true;
}

Outcome FromDlpack(const char* name, const DLTensor& source, partita_tensor* tensor) {
  const int device = source.device.device_type;
  if (device != kDLCPU && device != kDLCUDAHost) {
    return Invalid(fmt::format("tensor '{}' is on a device of DLPack's type {}; expected host memory, {} or {}", name,
                               device, static_cast<int>(kDLCPU), static_cast<int>(kDLCUDAHost)));
  }
  const DLDataType& given = source.dtype;
  const auto* const known = std::ranges::find_if(kTypes, [&](const TypeNames& names) {
    return names.dlpack.code == given.code && names.dlpack.bits == given.bits && given.lanes == 1;
  });
  if (known == std::end(kTypes)) {
    return Invalid(fmt::format("tensor '{}' has DLPack's type {} of {} bits and {} lanes; expected f32, f64, i32 or u8",
                               name, given.code, given.bits, given.lanes));
  }
  if (source.ndim < 0 || (source.ndim > 0 && source.shape == nullptr)) {
    return Invalid(fmt::format("tensor '{}' has {} dimensions and {} shape", name, source.ndim,
                               source.shape == nullptr ? "no" : "a"));
  }
  if (!IsDense(source)) return Invalid(fmt::format("tensor '{}' is not dense and row-major; copy it first", name));
  partita_tensor view = {};
  view.name = name;
  view.type = known->type;
  view.rank = source.ndim;
  view.shape = source.shape;
  view.data = static_cast<const char*>(source.data) + source.byte_offset;
  WriteStruct(view, tensor);
  return std::nullopt;
}

// A tensor of DLPack that keeps the values alive.
struct Managed {
  DLManagedTensor tensor = {};
  std::shared_ptr<partita_values> values;
};

}  // namespace

partita_tensor TensorOf(const std::string& name, Type type, const std::vector<int64_t>& shape, const void* data) {
  partita_tensor tensor = {};
  tensor.name = name.c_str();
  tensor.type = NamesOf(type).type;
  tensor.rank = static_cast<int32_t>(shape.size());
  tensor.shape = shape.data();
  tensor.data = data;
  return tensor;
}

Outcome ViewOf(const partita_tensor& tensor, const char* name, api::View& view) {
  const auto* const known = std::ranges::find(kTypes, tensor.type, &TypeNames::type);
  if (known == std::end(kTypes)) {
    return Invalid(fmt::format("tensor '{}' has type {}; expected one of partita_type, up to {}", name, tensor.type,
                               std::size(kTypes) - 1));
  }
  if (tensor.rank < 0 || tensor.rank > 64 || (tensor.rank > 0 && tensor.shape == nullptr)) {
    return Invalid(fmt::format("tensor '{}' has rank {} and {} shape; expected a rank from 0 to 64 and its sizes", name,
                               tensor.rank, tensor.shape == nullptr ? "no" : "a"));
  }
  view = {known->element, {tensor.shape, tensor.shape + tensor.rank}, tensor.data};
  return std::nullopt;
}

Outcome FieldsOf(const partita_tensor* batch, size_t count, api::Fields& fields) {
  if (count > 0 && batch == nullptr) return Invalid("batch is NULL");
  const char* next = reinterpret_cast<const char*>(batch);
  for (size_t i = 0; i < count; ++i) {
    const auto* const given = reinterpret_cast<const partita_tensor*>(next);
    const std::string what = fmt::format("batch[{}]", i);
    partita_tensor tensor;
    if (const Outcome wrong = ReadStruct(given, what.c_str(), tensor)) return wrong;
    if (given->size != batch->size) {
      return Invalid(
          fmt::format("{}.size is {}, and batch[0].size {}; expected the same", what, given->size, batch->size));
    }
    if (tensor.name == nullptr) return Invalid(what + ".name is NULL");
    api::View view;
    if (const Outcome wrong = ViewOf(tensor, tensor.name, view)) return wrong;
    if (!fields.emplace(tensor.name, std::move(view)).second) {
      return Invalid(fmt::format("field '{}' is in the batch twice", tensor.name));
    }
    next += given->size;
  }
  return std::nullopt;
}

}  // namespace partita::c

using partita::api::Outcome;
using partita::c::Call;
using partita::c::CallOf;
using partita::c::CheckSize;
using partita::c::Invalid;
using partita::c::Live;

extern "C" {

partita_error* partita_tensor_from_dlpack(const char* name, const void* source, partita_tensor* tensor) {
  return Call([&]() -> Outcome {
    if (name == nullptr) return Invalid("name is NULL");
    if (source == nullptr) return Invalid("source is NULL");
    if (const Outcome wrong = CheckSize(tensor, "tensor")) return wrong;
    return partita::c::FromDlpack(name, *static_cast<const DLTensor*>(source), tensor);
  });
}

size_t partita_values_count(const partita_values* values) {
  const auto found = Live<partita_values>::Find(values);
  return found == nullptr ? 0 : found->tensors.size();
}

partita_error* partita_values_get(const partita_values* values, size_t index, partita_tensor* tensor) {
  return CallOf(values, "values",
                [&](const partita_values& known) { return partita::c::TensorAt(known, index, tensor); });
}

partita_error* partita_values_find(const partita_values* values, const char* name, partita_tensor* tensor) {
  return CallOf(values, "values", [&](const partita_values& known) -> Outcome {
    if (name == nullptr) return Invalid("name is NULL");
    const auto found = std::ranges::find(known.tensors, name, [](const auto& named) { return named.first; });
    if (found == known.tensors.end()) return Invalid(fmt::format("there is no value '{}'", name));
    return partita::c::TensorAt(known, static_cast<size_t>(found - known.tensors.begin()), tensor);
  });
}

partita_error* partita_values_to_dlpack(const partita_values* values, size_t index, void** tensor) {
  return CallOf(values, "values", [&](partita_values& known) -> Outcome {
    if (tensor == nullptr) return Invalid("tensor is NULL");
    if (index >= known.tensors.size()) {
      return Invalid(fmt::format("index is {}; there are {} values", index, known.tensors.size()));
    }
    partita::api::Tensor& value = known.tensors[index].second;
    auto managed = std::make_unique<partita::c::Managed>();
    DLTensor& view = managed->tensor.dl_tensor;
    view.data = value.bytes.data();
    view.device = {kDLCPU, 0};
    view.ndim = static_cast<int>(value.shape.size());
    view.dtype = partita::c::NamesOf(value.type).dlpack;
    view.shape = value.shape.data();
    managed->values = Live<partita_values>::Find(values);
    managed->tensor.manager_ctx = managed.get();
    managed->tensor.deleter = [](DLManagedTensor* self) {
      delete static_cast<partita::c::Managed*>(self->manager_ctx);
    };
    *tensor = &managed.release()->tensor;
    return std::nullopt;
  });
}

void partita_values_free(partita_values* values) { Live<partita_values>::Remove(values); }

}  // extern "C"
