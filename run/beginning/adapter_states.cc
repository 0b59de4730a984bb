#include "run/beginning/adapter_states.h"

#include <algorithm>
#include <cstring>
#include <span>
#include <utility>
#include <vector>

#include "graph/read/adapted_model.h"
#include "run/tuning/adapters.h"
#include "runtime/base/status.h"
#include "runtime/checkpoint/adapter_folder.h"
#include "runtime/train/sharded/finite_check.h"

namespace partita {
namespace {

constexpr size_t kMostDimensions = 2;  // whose order is that of PyTorch

HostTensor TensorOf(const std::vector<double>& values, const TensorType& type) {
  HostTensor tensor{type.dtype, type.shape, std::vector<char>(values.size() * static_cast<size_t>(SizeOf(type.dtype)))};
  for (size_t i = 0; i < values.size(); ++i) {
    if (type.dtype == DType::kF64) {
      std::memcpy(tensor.bytes.data() + i * sizeof(double), &values[i], sizeof(double));
    } else {
      const auto value = static_cast<float>(values[i]);
      std::memcpy(tensor.bytes.data() + i * sizeof(float), &value, sizeof(float));
    }
  }
  return tensor;
}

// "head" of "head.bias"; "": it is of no module.
std::string OwnerOf(const std::string& name) {
  const size_t end = name.find_last_of("./");
  return end == std::string::npos ? "" : name.substr(0, end);
}

// What PEFT saves beside the adapters: of a module with adapters its bias, of others all.
struct Saved {
  AdapterConfig config;
  std::vector<std::string> states;
};

Saved SavedOf(const Model& model) {
  Saved saved;
  const Graph& graph = model.graph;
  std::set<std::string> adapted, whole;
  const std::set<std::string> adapters = AdapterNames(model);
  for (const Adapter& adapter : AdaptersOf(graph)) {
    adapted.insert(adapter.module);
    saved.config.modules.push_back(adapter.module);
    saved.config.transposed = adapter.transposed;
    saved.config.rank = graph.type(graph.Find(adapter.a)).shape[0];
  }
  const auto is_parameter = [&](const Value& value) { return graph.node(value.producer).op->role == Role::kParameter; };
  for (const State& state : graph.states()) {
    const Value& value = graph.value(state.value);
    if (!is_parameter(value) || adapters.contains(value.name)) continue;
    const bool of_adapted = adapted.contains(OwnerOf(value.name));
    saved.config.biases = saved.config.biases || of_adapted;
    if (!of_adapted) whole.insert(OwnerOf(value.name));
  }
  saved.config.whole.assign(whole.begin(), whole.end());
  for (const State& state : graph.states()) {
    const Value& value = graph.value(state.value);
    const std::string owner = OwnerOf(value.name);
    const bool bias = adapted.contains(owner) && is_parameter(value);
    if (adapters.contains(value.name) || bias || whole.contains(owner)) saved.states.push_back(value.name);
  }
  return saved;
}

}  // namespace

std::set<std::string> AdapterNames(const Model& model) {
  std::set<std::string> names;
  for (const Adapter& adapter : AdaptersOf(model.graph)) names.insert({adapter.a, adapter.b});
  return names;
}

absl::StatusOr<AdapterStates> ReadAdapterStates(const RunSpec& spec, const Program& program) {
  AdapterStates adapters;
  if (!spec.model().has_load_adapter()) return adapters;
  ASSIGN_OR_RETURN(const AdapterFolder folder, AdapterFolder::Read(spec.model().load_adapter()));
  adapters.digest = folder.Digest();
  std::set<std::string> wanted;
  for (const auto& [name, stored] : folder.tensors()) wanted.insert(name);
  for (const std::string& module : folder.Modules()) wanted.insert(module + kAdapterUp);
  const Graph& graph = program.state_graph();
  for (const std::string& name : wanted) {
    const ValueId value = graph.Find(name);
    if (value == kNoValue) continue;  // a prediction needs no more of the model
    const TensorType& type = graph.type(value);
    if (type.shape.size() > kMostDimensions) {
      return InvalidArgument("{}: tensor {} has shape {}; expected at most {} dimensions", folder.path(), name,
                             ToString(type.shape), kMostDimensions);
    }
    ASSIGN_OR_RETURN(const std::vector<double> values, folder.Values(name, type.shape));
    adapters.states.emplace(name, TensorOf(values, type));
  }
  return adapters;
}

absl::Status LoadAdapterStates(const AdapterStates& adapters, Session& session) {
  for (const auto& [name, tensor] : adapters.states) RETURN_IF_ERROR(session.WriteState(name, tensor));
  return absl::OkStatus();
}

absl::Status CheckAdapterSave(const RunSpec& spec, const Model& model) {
  if (!spec.saving().has_save_adapter()) return absl::OkStatus();
  for (const std::string& name : SavedOf(model).states) {
    const Shape& shape = model.graph.type(model.graph.Find(name)).shape;
    if (shape.size() <= kMostDimensions && !OwnerOf(name).empty()) continue;
    return InvalidArgument(
        "flag --save-adapter: {} {} is trained beside the adapters; expected parameters of modules with at most {} "
        "dimensions (--save writes all)",
        name, ToString(shape), kMostDimensions);
  }
  return absl::OkStatus();
}

absl::Status SaveAdapterStates(const RunSpec& spec, const Model& model, const Session& session) {
  const std::string& folder = spec.saving().save_adapter();
  Saved saved = SavedOf(model);
  ASSIGN_OR_RETURN(const AdapterSettings settings, SettingsOfAdapters(spec));
  saved.config.alpha = settings.alpha;
  saved.config.dropout = settings.dropout;
  FiniteCheck finite;
  std::vector<HostTensor> tensors;
  for (const std::string& name : saved.states) {
    ASSIGN_OR_RETURN(HostTensor tensor, session.ReadState(name));
    finite.Look(name, {tensor.dtype, tensor.shape, WholeBox(tensor.shape)}, std::as_bytes(std::span(tensor.bytes)));
    tensors.push_back(std::move(tensor));
  }
  RETURN_IF_ERROR(finite.Result(folder));
  if (session.local_ranks().front() != 0) return absl::OkStatus();
  std::vector<NamedTensor> named;
  for (size_t i = 0; i < tensors.size(); ++i) {
    const HostTensor& tensor = tensors[i];
    named.push_back({saved.states[i],
                     tensor.dtype,
                     {tensor.shape.begin(), tensor.shape.end()},
                     std::as_bytes(std::span(tensor.bytes))});
  }
  return SaveAdapterFolder(folder, saved.config, std::move(named));
}

}  // namespace partita
