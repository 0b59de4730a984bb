#include "runtime/checkpoint/stored_type.h"

#include "runtime/base/check.h"

namespace partita {
namespace {

// In the order of the reference (safetensors/src/tensor.rs, enum Dtype).
constexpr StoredType kTypes[] = {
    {"BOOL", 8},    {"F4", 4},      {"F6_E2M3", 6}, {"F6_E3M2", 6},     {"U8", 8},          {"I8", 8},
    {"F8_E5M2", 8}, {"F8_E4M3", 8}, {"F8_E8M0", 8}, {"F8_E4M3FNUZ", 8}, {"F8_E5M2FNUZ", 8}, {"I16", 16},
    {"U16", 16},    {"F16", 16},    {"BF16", 16},   {"I32", 32},        {"U32", 32},        {"F32", 32},
    {"C64", 64},    {"F64", 64},    {"I64", 64},    {"U64", 64},
};

constexpr std::string_view NameOf(DType dtype) {
  switch (dtype) {
    case DType::kF32:
      return "F32";
    case DType::kF64:
      return "F64";
    case DType::kI32:
      return "I32";
    case DType::kU8:
      return "U8";
    case DType::kBF16:
      return "BF16";
  }
  return "";
}

}  // namespace

const StoredType* FindStoredType(std::string_view name) {
  for (const StoredType& type : kTypes) {
    if (type.name == name) return &type;
  }
  return nullptr;
}

const StoredType* StoredTypeOf(DType dtype) {
  const StoredType* type = FindStoredType(NameOf(dtype));
  CHECK(type != nullptr);
  return type;
}

}  // namespace partita
