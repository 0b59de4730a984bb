// Weights of a program that are the same tensor, of which the graph has one state.
#ifndef PARTITA_IMPORTER_TIED_WEIGHTS_H_
#define PARTITA_IMPORTER_TIED_WEIGHTS_H_

#include <map>
#include <string>

#include "importer/import_model.h"

namespace partita {

std::map<std::string, const torch_export::ImportedState*> StatesByName(const ImportedModel& imported);

// The name under which the graph has that weight, or one that is tied to it; nullptr: it has none of it.
const std::string* UsedName(const torch_export::ExportedProgram& program, const torch_export::StoredWeight& weight,
                            const std::map<std::string, const torch_export::ImportedState*>& states);

}  // namespace partita

#endif  // PARTITA_IMPORTER_TIED_WEIGHTS_H_
