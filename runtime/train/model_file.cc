#include "runtime/train/model_file.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <optional>
#include <string_view>

#include "runtime/base/bf16.h"
#include "runtime/base/status.h"

namespace partita {
namespace {

std::vector<std::string> StatesOf(const Model& model) {
  std::vector<std::string> names;
  for (const State& state : model.graph.states()) names.push_back(model.graph.value(state.value).name);
  return names;
}

// Every tensor is a state of the graph, and none is larger than there: so the file is not, either.
absl::Status CheckTensors(const SafetensorsFile& file, const Graph& graph) {
  std::map<std::string_view, const Shape*> shapes;
  for (const State& state : graph.states()) {
    const Value& value = graph.value(state.value);
    shapes[value.name] = &value.type.shape;
  }
  for (const StoredTensor& tensor : file.tensors()) {
    const auto found = shapes.find(tensor.name);
    if (found == shapes.end()) {
      return InvalidArgument("{}: tensor {} is no parameter and no running statistic of the graph", file.path(),
                             Printable(tensor.name));
    }
    if (std::equal(tensor.shape.begin(), tensor.shape.end(), found->second->begin(), found->second->end())) continue;
    return InvalidArgument("{}: tensor {}: found {}[{}], needed is {}", file.path(), Printable(tensor.name),
                           tensor.type->name, fmt::join(tensor.shape, ","), ToString(*found->second));
  }
  return absl::OkStatus();
}

template <typename T>
std::optional<size_t> FirstNonFinite(const std::vector<char>& bytes) {
  for (size_t begin = 0; begin < bytes.size(); begin += sizeof(T)) {
    T value;
    std::memcpy(&value, bytes.data() + begin, sizeof(T));
    if (!std::isfinite(static_cast<Compute<T>>(value))) return begin / sizeof(T);
  }
  return std::nullopt;
}

std::optional<size_t> FirstNonFinite(const HostTensor& state) {
  if (state.dtype == DType::kF32) return FirstNonFinite<float>(state.bytes);
  if (state.dtype == DType::kF64) return FirstNonFinite<double>(state.bytes);
  if (state.dtype == DType::kBF16) return FirstNonFinite<Bf16>(state.bytes);
  return std::nullopt;
}

// Training ends where a loss is not finite, but the update after the last loss has none to show what it did.
absl::Status CheckFinite(const std::string& path, const std::vector<std::string>& names,
                         const std::vector<HostTensor>& states) {
  std::string first;
  int broken = 0;
  for (size_t i = 0; i < names.size(); ++i) {
    const std::optional<size_t> element = FirstNonFinite(states[i]);
    if (element && broken++ == 0) first = fmt::format("element {} of '{}'", *element, names[i]);
  }
  if (broken == 0) return absl::OkStatus();
  return OutOfRange("{}: not written: {} is not finite; {} of {} tensors have such values", path, first, broken,
                    names.size());
}

}  // namespace

absl::Status SaveStates(const Session& session, const Model& model, const std::string& path) {
  const std::vector<std::string> names = StatesOf(model);
  std::vector<HostTensor> states;
  for (const std::string& name : names) {
    ASSIGN_OR_RETURN(HostTensor state, session.ReadState(name));
    states.push_back(std::move(state));
  }
  RETURN_IF_ERROR(CheckFinite(path, names, states));
  if (session.local_ranks().front() != 0) return absl::OkStatus();
  std::vector<NamedTensor> tensors;
  for (size_t i = 0; i < names.size(); ++i) {
    const Shape& shape = states[i].shape;
    tensors.push_back(
        {names[i], states[i].dtype, {shape.begin(), shape.end()}, std::as_bytes(std::span(states[i].bytes))});
  }
  return SaveSafetensors(path, tensors, {{"partita.model", model.name}});
}

absl::StatusOr<SafetensorsFile> ReadStateFile(const Model& model, const std::string& path) {
  return LoadSafetensors(path, [&](const SafetensorsFile& file) { return CheckTensors(file, model.graph); });
}

absl::Status LoadStates(Session& session, const Model& model, const SafetensorsFile& file) {
  const std::vector<std::string> names = StatesOf(model);
  RETURN_IF_ERROR(CheckTensors(file, model.graph));
  std::vector<HostTensor> states;
  for (const std::string& name : names) {
    ASSIGN_OR_RETURN(HostTensor state, session.ReadState(name));
    ASSIGN_OR_RETURN(const std::span<const std::byte> bytes, file.Get(name, state.dtype, state.shape));
    const char* const first = reinterpret_cast<const char*>(bytes.data());
    state.bytes.assign(first, first + bytes.size());
    states.push_back(std::move(state));
  }
  for (size_t i = 0; i < names.size(); ++i) RETURN_IF_ERROR(session.WriteState(names[i], states[i]));
  return absl::OkStatus();
}

}  // namespace partita
