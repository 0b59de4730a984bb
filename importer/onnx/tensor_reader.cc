#include "importer/onnx/tensor_reader.h"

#include <charconv>
#include <cstring>
#include <filesystem>
#include <map>
#include <system_error>

#include "graph/value/node_name.h"
#include "graph/value/shape.h"
#include "runtime/base/input_file.h"
#include "runtime/base/status.h"

namespace partita::onnx {
namespace {

constexpr size_t kMostDimensions = 16;

template <typename T>
void Append(int64_t value, std::string& bytes) {
  const T element = static_cast<T>(value);
  bytes.append(reinterpret_cast<const char*>(&element), sizeof(T));
}

// Elements that a field of integers holds, each as its type has it.
absl::Status SetIntegers(const IntList& integers, Tensor& tensor) {
  for (const int64_t value : integers) {
    switch (tensor.type) {
      case kInt64:
        Append<int64_t>(value, tensor.bytes);
        break;
      case kInt32:
        Append<int32_t>(value, tensor.bytes);
        break;
      case kInt16:
      case kFloat16:
      case kBfloat16:  // their bits
        Append<int16_t>(value, tensor.bytes);
        break;
      case kInt8:
      case kUint8:
      case kBool:
        Append<int8_t>(value, tensor.bytes);
        break;
      default:
        return InvalidArgument("its elements are integers, and its type is {}", NameOfType(tensor.type));
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<int64_t> Count(const std::map<std::string, std::string>& keys, const std::string& key,
                              int64_t otherwise) {
  const auto found = keys.find(key);
  if (found == keys.end()) return otherwise;
  int64_t value = 0;
  const std::string& text = found->second;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc() && end == text.data() + text.size() && value >= 0) return value;
  return InvalidArgument("{} of its external data is {}; expected a number", key, Quoted(text));
}

// A file below the model's folder. A link in a folder that was downloaded could lead anywhere; only where the model is
// one itself, as in a cache of downloads, is everything in its folder one.
absl::Status FindBeside(const std::string& model, const std::map<std::string, std::string>& keys, Tensor& tensor) {
  const auto location = keys.find("location");
  if (location == keys.end()) return InvalidArgument("its external data have no location");
  const std::filesystem::path relative = location->second;
  std::filesystem::path place = std::filesystem::path(model).parent_path();
  bool inside = !relative.empty() && relative.is_relative();
  for (const std::filesystem::path& part : relative) {
    inside &= part != "..";
    if (!inside) break;
    place /= part;
    std::error_code error;
    if (std::filesystem::is_symlink(place, error) && !std::filesystem::is_symlink(model, error)) {
      return InvalidArgument(
          "its external data {} lie behind a link, and the model does not; expected a file in the "
          "model's folder",
          Quoted(location->second));
    }
  }
  if (!inside || location->second.find('\0') != std::string::npos) {
    return InvalidArgument("its external data {} leave the model's folder; expected a file in it",
                           Quoted(location->second));
  }
  const absl::StatusOr<InputFile> file = InputFile::Open(place.string());
  if (!file.ok()) {
    return InvalidArgument("its external data: {}; expected the file beside the model",
                           std::string(file.status().message()));
  }
  tensor.file = place.string();
  ASSIGN_OR_RETURN(tensor.begin, Count(keys, "offset", 0));
  if (tensor.begin > file->size()) {
    return InvalidArgument("{}: has {} bytes; its elements begin at {}", tensor.file, file->size(), tensor.begin);
  }
  ASSIGN_OR_RETURN(tensor.size, Count(keys, "length", file->size() - tensor.begin));
  if (tensor.size <= file->size() - tensor.begin) return absl::OkStatus();
  return InvalidArgument("{}: has {} bytes; its elements end at {}", tensor.file, file->size(),
                         tensor.begin + tensor.size);
}

// As many bytes as its sizes say.
absl::Status CheckBytes(const Tensor& tensor) {
  const int64_t each = BytesOf(tensor.type);
  if (each == 0) return absl::OkStatus();  // what reads it says so
  for (const int64_t size : tensor.dims) {
    if (size < 0) return InvalidArgument("it has size {}; expected 0 or more", size);
  }
  ASSIGN_OR_RETURN(const int64_t elements, CheckedElements(Shape(tensor.dims.begin(), tensor.dims.end())));
  const int64_t size = tensor.file.empty() ? static_cast<int64_t>(tensor.bytes.size()) : tensor.size;
  if (size % each == 0 && size / each == elements) return absl::OkStatus();
  return InvalidArgument("it has {} bytes; expected {} elements of {} bytes", size, elements, each);
}

absl::StatusOr<std::pair<std::string, std::string>> ReadEntry(WireFile& file, int64_t end) {
  std::pair<std::string, std::string> entry;
  while (file.position() < end) {
    ASSIGN_OR_RETURN(const WireField field, file.Next(end));
    if (field.type != WireType::kBytes) continue;
    ASSIGN_OR_RETURN(std::string text, file.Bytes(field.end));
    if (field.number == 1) entry.first = std::move(text);
    if (field.number == 2) entry.second = std::move(text);
  }
  return entry;
}

}  // namespace

absl::Status Budget::Take(int64_t count) {
  left_ -= count;
  if (left_ >= 0) return absl::OkStatus();
  return InvalidArgument("it has more than {} nodes, names and numbers; expected fewer", int64_t{1} << 24);
}

absl::Status AppendIntegers(WireFile& file, const WireField& field, Budget& budget, IntList& integers) {
  if (field.type == WireType::kVarint) {
    RETURN_IF_ERROR(budget.Take(1));
    integers.push_back(static_cast<int64_t>(field.value));
    return absl::OkStatus();
  }
  if (field.type != WireType::kBytes) return InvalidArgument("byte {}: found no integers", file.position());
  while (file.position() < field.end) {
    ASSIGN_OR_RETURN(const uint64_t value, file.Varint(field.end));
    RETURN_IF_ERROR(budget.Take(1));
    integers.push_back(static_cast<int64_t>(value));
  }
  return absl::OkStatus();
}

absl::StatusOr<Tensor> ReadTensor(WireFile& file, int64_t end, const std::string& path, Budget& budget) {
  enum : int { kDims = 1, kType, kSegment, kFloats, kInt32s, kStrings, kInt64s, kName, kRaw, kDoubles, kUint64s };
  constexpr int kExternal = 13;
  RETURN_IF_ERROR(budget.Take(8));
  Tensor tensor;
  IntList integers;
  std::map<std::string, std::string> external;
  bool pieces = false;
  while (file.position() < end) {
    ASSIGN_OR_RETURN(const WireField field, file.Next(end));
    if (field.number == kDims) {
      RETURN_IF_ERROR(AppendIntegers(file, field, budget, tensor.dims));
    } else if (field.number == kInt32s || field.number == kInt64s) {
      RETURN_IF_ERROR(AppendIntegers(file, field, budget, integers));
    } else if (field.number == kType && field.type == WireType::kVarint) {
      tensor.type = static_cast<int>(field.value);
    } else if ((field.number == kFloats && field.type == WireType::kFixed32) ||
               (field.number == kDoubles && field.type == WireType::kFixed64)) {  // one that is not packed
      RETURN_IF_ERROR(budget.Take(1));
      const size_t size = field.number == kFloats ? sizeof(float) : sizeof(double);
      tensor.bytes.append(reinterpret_cast<const char*>(&field.value), size);
    } else if (field.type != WireType::kBytes) {
      continue;
    } else if (field.number == kName) {
      ASSIGN_OR_RETURN(tensor.name, file.Bytes(field.end));
    } else if (field.number == kExternal) {
      RETURN_IF_ERROR(budget.Take(1));
      ASSIGN_OR_RETURN(auto entry, ReadEntry(file, field.end));
      external.insert(std::move(entry));
    } else if (field.number == kRaw || field.number == kFloats || field.number == kDoubles) {
      pieces |= !tensor.file.empty();
      tensor.file = path;
      tensor.begin = file.position();
      tensor.size = field.end - tensor.begin;
      RETURN_IF_ERROR(file.SkipTo(field.end));
    } else {
      RETURN_IF_ERROR(file.SkipTo(field.end));
    }
  }
  const auto check = [&]() -> absl::Status {
    if (tensor.dims.size() > kMostDimensions) return InvalidArgument("it has {} dimensions", tensor.dims.size());
    RETURN_IF_ERROR(SetIntegers(integers, tensor));
    if (pieces || (!tensor.file.empty() && !tensor.bytes.empty())) {
      return InvalidArgument("its elements are in several pieces");
    }
    if (!external.empty()) RETURN_IF_ERROR(FindBeside(path, external, tensor));
    return CheckBytes(tensor);
  };
  RETURN_IF_ERROR(WithContext("tensor " + Quoted(tensor.name), check()));
  return tensor;
}

}  // namespace partita::onnx
