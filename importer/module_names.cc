#include "importer/module_names.h"

#include <map>
#include <utility>
#include <vector>

#include "importer/tied_weights.h"

namespace partita {

ModuleNames ModuleNamesOf(const ImportedModel& imported) {
  const std::map<std::string, const torch_export::ImportedState*> states = StatesByName(imported);
  std::map<std::string, ForeignTensor> tensors;
  std::vector<std::string> unused;
  for (const auto& [name, weight] : imported.program.weights) {
    if (!weight.is_persistent) continue;
    const std::string* const used = UsedName(imported.program, weight, states);
    if (used == nullptr) {
      unused.push_back(name);
      continue;
    }
    ForeignTensor& tensor = tensors[*used];
    tensor.order = Rearrangement::OfOrder(states.at(*used)->order);
    if (tensor.name.empty()) {
      tensor.name = name;
    } else {
      tensor.copies.push_back(name);
    }
  }
  std::set<std::string> own;
  for (const auto& [name, state] : states) {
    if (!tensors.contains(name)) own.insert(name);
  }
  return {NameMap(std::move(tensors), std::move(unused)), std::move(own)};
}

}  // namespace partita
