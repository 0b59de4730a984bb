#include "runtime/train/model_file.h"

#include <algorithm>

#include "runtime/base/status.h"

namespace partita {
namespace {

std::vector<std::string> StatesOf(const Model& model) {
  std::vector<std::string> names;
  for (const State& state : model.graph.states()) names.push_back(model.graph.value(state.value).name);
  return names;
}

absl::Status CheckNames(const SafetensorsFile& file, const std::vector<std::string>& states) {
  for (const StoredTensor& tensor : file.tensors()) {
    if (std::find(states.begin(), states.end(), tensor.name) != states.end()) continue;
    return InvalidArgument("{}: tensor {} is no parameter and no running statistic of the graph", file.path(),
                           Printable(tensor.name));
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status SaveStates(const Session& session, const Model& model, const std::string& path) {
  const std::vector<std::string> names = StatesOf(model);
  std::vector<HostTensor> states;
  for (const std::string& name : names) {
    ASSIGN_OR_RETURN(HostTensor state, session.ReadState(name));
    states.push_back(std::move(state));
  }
  if (session.local_ranks().front() != 0) return absl::OkStatus();
  std::vector<NamedTensor> tensors;
  for (size_t i = 0; i < names.size(); ++i) {
    const Shape& shape = states[i].shape;
    tensors.push_back(
        {names[i], states[i].dtype, {shape.begin(), shape.end()}, std::as_bytes(std::span(states[i].bytes))});
  }
  return SaveSafetensors(path, tensors, {{"partita.model", model.name}});
}

absl::Status LoadStates(Session& session, const Model& model, const SafetensorsFile& file) {
  const std::vector<std::string> names = StatesOf(model);
  RETURN_IF_ERROR(CheckNames(file, names));
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
