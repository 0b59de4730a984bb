#include "runtime/train/model_file.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "graph/ir/generated_name.h"
#include "runtime/base/bf16.h"
#include "runtime/base/status.h"

namespace partita {
namespace {

std::vector<std::string> StatesOf(const Model& model) {
  std::vector<std::string> names;
  for (const State& state : model.graph.states()) names.push_back(model.graph.value(state.value).name);
  return names;
}

// Those of them whose moving average the session has.
std::vector<std::string> AveragedIn(const Session& session, const std::vector<std::string>& states) {
  const std::vector<std::string> names = session.StateNames();
  const std::set<std::string> all(names.begin(), names.end());
  std::vector<std::string> averaged;
  std::ranges::copy_if(states, std::back_inserter(averaged),
                       [&](const std::string& name) { return all.contains(AverageName(name)); });
  return averaged;
}

// Every tensor is a state of the graph, or its average, and none is larger than there: so the file is not, either.
absl::Status CheckTensors(const SafetensorsFile& file, const Model& model) {
  const Graph& graph = model.graph;
  std::map<std::string, const Shape*, std::less<>> shapes;
  for (const State& state : graph.states()) {
    const Value& value = graph.value(state.value);
    shapes[value.name] = &value.type.shape;
    if (model.optimizer.average) shapes[AverageName(value.name)] = &value.type.shape;
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
  std::vector<std::string> names = StatesOf(model);
  for (const std::string& name : AveragedIn(session, names)) names.push_back(AverageName(name));
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
  return LoadSafetensors(path, [&](const SafetensorsFile& file) { return CheckTensors(file, model); });
}

absl::Status LoadStates(Session& session, const Model& model, const SafetensorsFile& file) {
  RETURN_IF_ERROR(CheckTensors(file, model));
  std::vector<std::pair<std::string, std::string>> sources;  // states, and the tensors that they become
  const std::vector<std::string> names = StatesOf(model);
  for (const std::string& name : names) sources.emplace_back(name, name);
  for (const std::string& name : AveragedIn(session, names)) {
    const std::string average = AverageName(name);
    sources.emplace_back(average, file.Find(average) != nullptr ? average : name);
  }
  std::vector<HostTensor> states;
  for (const auto& [name, tensor] : sources) {
    ASSIGN_OR_RETURN(HostTensor state, session.ReadState(name));
    ASSIGN_OR_RETURN(const std::span<const std::byte> bytes, file.Get(tensor, state.dtype, state.shape));
    const char* const first = reinterpret_cast<const char*>(bytes.data());
    state.bytes.assign(first, first + bytes.size());
    states.push_back(std::move(state));
  }
  for (size_t i = 0; i < sources.size(); ++i) RETURN_IF_ERROR(session.WriteState(sources[i].first, states[i]));
  return absl::OkStatus();
}

}  // namespace partita
