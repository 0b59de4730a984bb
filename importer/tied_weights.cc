#include "importer/tied_weights.h"

namespace partita {

using namespace torch_export;

std::map<std::string, const ImportedState*> StatesByName(const ImportedModel& imported) {
  std::map<std::string, const ImportedState*> states;
  for (const ImportedState& state : imported.states) states[state.name] = &state;
  return states;
}

const std::string* UsedName(const ExportedProgram& program, const StoredWeight& weight,
                            const std::map<std::string, const ImportedState*>& states) {
  for (const auto& [name, other] : program.weights) {
    const bool same = other.member.begin == weight.member.begin && other.file == weight.file &&
                      other.bytes == weight.bytes && other.meta.offset == weight.meta.offset &&
                      other.meta.shape() == weight.meta.shape() && other.meta.strides == weight.meta.strides;
    if (same && states.contains(name)) return &name;
  }
  return nullptr;
}

}  // namespace partita
