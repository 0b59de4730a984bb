#include "importer/program/stored_elements.h"

#include <cstring>
#include <limits>

#include "graph/value/node_name.h"
#include "runtime/base/bf16.h"
#include "runtime/base/f16.h"
#include "runtime/base/input_file.h"
#include "runtime/base/status.h"

namespace partita::torch_export {
namespace {

template <typename T>
double ElementAt(const std::string& storage, int64_t at) {
  T value;
  std::memcpy(&value, storage.data() + at * static_cast<int64_t>(sizeof(T)), sizeof(T));
  return static_cast<double>(value);
}

}  // namespace

bool IsFloat(ScalarType type) {
  return type == ScalarType::kF16 || type == ScalarType::kBF16 || type == ScalarType::kF32 || type == ScalarType::kF64;
}

absl::StatusOr<ReadElement> ReaderOf(ScalarType type) {
  switch (type) {
    case ScalarType::kF32:
      return ElementAt<float>;
    case ScalarType::kF64:
      return ElementAt<double>;
    case ScalarType::kF16:
      return [](const std::string& storage, int64_t at) {
        F16 value;
        std::memcpy(&value, storage.data() + at * static_cast<int64_t>(sizeof(F16)), sizeof(F16));
        return static_cast<double>(static_cast<float>(value));
      };
    case ScalarType::kBF16:
      return ElementAt<Bf16>;
    case ScalarType::kI32:
      return ElementAt<int32_t>;
    case ScalarType::kI64:
      return ElementAt<int64_t>;
    case ScalarType::kI16:
      return ElementAt<int16_t>;
    case ScalarType::kI8:
      return ElementAt<int8_t>;
    case ScalarType::kU8:
    case ScalarType::kBool:
      return ElementAt<uint8_t>;
    default:
      return InvalidArgument("its element type is {}, which is not read", Name(type));
  }
}

absl::StatusOr<std::string> StorageOf(const std::string& path, const std::string& name, const StoredWeight& weight) {
  if (weight.bytes != nullptr) return *weight.bytes;
  if (weight.file.empty()) return ReadMember(path, name, weight.member, std::numeric_limits<int64_t>::max());
  ASSIGN_OR_RETURN(InputFile file, InputFile::Open(weight.file));
  if (weight.member.begin > file.size() || weight.member.size > file.size() - weight.member.begin) {
    return InvalidArgument("{}: the file became shorter", weight.file);
  }
  RETURN_IF_ERROR(file.Skip(weight.member.begin));
  std::string bytes;
  RETURN_IF_ERROR(file.Append(weight.member.size, bytes));
  return bytes;
}

absl::StatusOr<std::vector<double>> ElementsOf(const std::string& path, const std::string& name,
                                               const StoredWeight& weight) {
  ASSIGN_OR_RETURN(const ReadElement read, ReaderOf(weight.meta.type));
  ASSIGN_OR_RETURN(const std::string storage, StorageOf(path, name, weight));
  std::vector<double> values(static_cast<size_t>(Elements(weight.meta.shape())));
  for (size_t i = 0; i < values.size(); ++i) values[i] = read(storage, static_cast<int64_t>(i));
  return values;
}

}  // namespace partita::torch_export
