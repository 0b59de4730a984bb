#include "run/tuning/adapters.h"

#include <algorithm>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "graph/read/adapted_model.h"
#include "graph/value/node_name.h"
#include "ops/registry.h"
#include "run/spec/flag.h"
#include "run/spec/spec_error.h"
#include "runtime/base/status.h"

namespace partita {
namespace {

Lora LoraOfFlags(const ModelSpec& flags) {
  Lora lora{.rank = flags.lora_rank(),
            .alpha = flags.has_lora_alpha() ? flags.lora_alpha() : static_cast<double>(flags.lora_rank()),
            .dropout = flags.lora_dropout(),
            .weights = {},
            .trained = {}};
  if (flags.has_lora()) lora.weights = ListOf(flags.lora());
  if (flags.has_lora_train()) lora.trained = ListOf(flags.lora_train());
  return lora;
}

// The weights that the folder's modules have in the model, and what else it has.
absl::StatusOr<Lora> LoraOfFolder(const ModelSpec& flags, const AdapterFolder& folder, const Graph& graph) {
  Lora lora{.rank = folder.rank(),
            .alpha = folder.alpha(),
            .dropout = flags.has_lora_dropout() ? flags.lora_dropout() : folder.dropout(),
            .weights = {},
            .trained = {}};
  std::vector<std::string> names;
  for (const State& state : graph.states()) names.push_back(graph.value(state.value).name);
  const std::set<std::string> known(names.begin(), names.end());
  for (const std::string& module : folder.Modules()) {
    const auto weight = std::ranges::find_if(names, [&](const std::string& name) { return ModuleOf(name) == module; });
    if (weight == names.end()) {
      return InvalidArgument("{}: has adapters of {}, and {} has no such module{}", folder.path(), Quoted(module),
                             flags.graph(), Suggestion(module + ".weight", names));
    }
    lora.weights.push_back(*weight);
  }
  for (const auto& [name, stored] : folder.tensors()) {
    if (name.ends_with(kAdapterDown) || name.ends_with(kAdapterUp)) continue;
    if (!known.contains(name)) {
      return InvalidArgument("{}: has the parameter {}, and {} has none such{}", folder.path(), Quoted(name),
                             flags.graph(), Suggestion(name, names));
    }
    const Node& node = graph.node(graph.value(graph.Find(name)).producer);
    if (node.op->role == Role::kParameter) lora.trained.push_back(name);
  }
  return lora;
}

}  // namespace

absl::StatusOr<Model> Adapted(const RunSpec& spec, Model model) {
  const ModelSpec& flags = spec.model();
  if (!flags.has_lora_rank() && !flags.has_load_adapter()) return model;
  if (!AdaptersOf(model.graph).empty()) return model;
  Lora lora;
  if (flags.has_load_adapter()) {
    ASSIGN_OR_RETURN(const AdapterFolder folder, AdapterFolder::ReadOutline(flags.load_adapter()));
    ASSIGN_OR_RETURN(lora, LoraOfFolder(flags, folder, model.graph));
  } else {
    lora = LoraOfFlags(flags);
  }
  absl::StatusOr<Model> adapted = WithAdapters(model, lora, Ops());
  if (adapted.ok()) return adapted;
  if (flags.has_load_adapter()) return WithContext(flags.load_adapter(), adapted.status());
  return FlagError("flag --{}: {}", flags.has_lora() ? "lora" : "lora-rank", std::string(adapted.status().message()));
}

absl::StatusOr<AdapterSettings> SettingsOfAdapters(const RunSpec& spec) {
  const ModelSpec& flags = spec.model();
  if (!flags.has_load_adapter()) {
    const Lora lora = LoraOfFlags(flags);
    return AdapterSettings{lora.alpha, lora.dropout};
  }
  ASSIGN_OR_RETURN(const AdapterFolder folder, AdapterFolder::ReadOutline(flags.load_adapter()));
  return AdapterSettings{folder.alpha(), flags.has_lora_dropout() ? flags.lora_dropout() : folder.dropout()};
}

}  // namespace partita
