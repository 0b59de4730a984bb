#include "tools/commands/convert/saved_states.h"

#include <cstring>
#include <filesystem>
#include <memory>
#include <span>
#include <system_error>
#include <utility>
#include <vector>

#include "graph/ir/generated_name.h"
#include "graph/value/node_name.h"
#include "graph/value/shape.h"
#include "runtime/base/status.h"
#include "runtime/checkpoint/sharded/checkpoint_folder.h"
#include "runtime/checkpoint/sharded/convert.h"

namespace partita {
namespace {

template <typename From, typename To>
std::string Converted(std::span<const std::byte> bytes) {
  std::string converted;
  for (size_t i = 0; i < bytes.size(); i += sizeof(From)) {
    From element;
    std::memcpy(&element, bytes.data() + i, sizeof(element));
    const To result = static_cast<To>(element);
    converted.append(reinterpret_cast<const char*>(&result), sizeof(result));
  }
  return converted;
}

// A run in f64 saves f64 for a graph in f32.
std::string InType(std::span<const std::byte> bytes, DType stored, DType wanted) {
  if (stored == DType::kF64 && wanted == DType::kF32) return Converted<double, float>(bytes);
  if (stored == DType::kF32 && wanted == DType::kF64) return Converted<float, double>(bytes);
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

DType StoredDType(const StoredTensor& tensor, DType wanted) {
  for (const DType type : {DType::kF32, DType::kF64}) {
    if (IsFloating(wanted) && tensor.type == StoredTypeOf(type)) return type;
  }
  return wanted;
}

absl::StatusOr<std::string> ReadTensor(const SafetensorsFile& file, const std::string& name, const TensorType& type) {
  const StoredTensor* const found = file.Find(name);
  const DType stored = found == nullptr ? type.dtype : StoredDType(*found, type.dtype);
  ASSIGN_OR_RETURN(const std::span<const std::byte> bytes,
                   file.Get(name, stored, std::span(type.shape.data(), type.shape.size())));
  return InType(bytes, stored, type.dtype);
}

absl::StatusOr<std::string> ReadSaved(const SavedCheckpoint& checkpoint, const std::string& name,
                                      const TensorType& type) {
  const SavedState* const state = checkpoint.Find(name);
  if (state == nullptr) return InvalidArgument("{}: has no state {}", checkpoint.folder(), Quoted(name));
  const bool same_kind = state->dtype == type.dtype || (IsFloating(state->dtype) && IsFloating(type.dtype));
  if (state->shape != type.shape || !same_kind) {
    return InvalidArgument("{}: state {} is {}{}; expected {}{}, as in the graph", checkpoint.folder(), Quoted(name),
                           Name(state->dtype), ToString(state->shape), Name(type.dtype), ToString(type.shape));
  }
  ASSIGN_OR_RETURN(const std::string whole, ReadWhole(checkpoint, *state));
  return InType(std::as_bytes(std::span(whole)), state->dtype, type.dtype);
}

}  // namespace

onnx_export::ReadState StatesOf(SafetensorsFile file, bool averages) {
  const auto shared = std::make_shared<const SafetensorsFile>(std::move(file));
  return [shared, averages](const std::string& name, const TensorType& type) {
    const std::string average = AverageName(name);
    return ReadTensor(*shared, averages && shared->Find(average) != nullptr ? average : name, type);
  };
}

absl::StatusOr<onnx_export::ReadState> OpenStates(const std::string& path, bool averages) {
  if (std::error_code error; !std::filesystem::is_directory(path, error)) {
    ASSIGN_OR_RETURN(SafetensorsReader reader, SafetensorsReader::Open(path));
    const auto is_read = [](const StoredTensor& tensor) {
      return !IsGenerated(tensor.name) || tensor.name == AverageName(UserNameOf(tensor.name));
    };
    ASSIGN_OR_RETURN(SafetensorsFile file, std::move(reader).Read(is_read));
    return StatesOf(std::move(file), averages);
  }
  std::string folder = path;
  ASSIGN_OR_RETURN(const std::vector<int64_t> steps, CheckpointSteps(SystemDisk(), ResolveLink(folder)));
  if (!steps.empty()) folder = StepFolder(folder, steps.back());
  ASSIGN_OR_RETURN(SavedCheckpoint opened, SavedCheckpoint::Open(folder));
  const auto checkpoint = std::make_shared<const SavedCheckpoint>(std::move(opened));
  return [checkpoint, averages](const std::string& name, const TensorType& type) {
    const std::string average = AverageName(name);
    return ReadSaved(*checkpoint, averages && checkpoint->Find(average) != nullptr ? average : name, type);
  };
}

}  // namespace partita
