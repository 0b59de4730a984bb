// The names and dimensions that a module of PyTorch has for the states of its exported program.
#ifndef PARTITA_IMPORTER_MODULE_NAMES_H_
#define PARTITA_IMPORTER_MODULE_NAMES_H_

#include <set>
#include <string>

#include "importer/import_model.h"
#include "importer/name_maps/name_map.h"

namespace partita {

struct ModuleNames {
  NameMap map;                // to its state_dict, or to an ONNX model's initializers
  std::set<std::string> own;  // states that are no part of it: constants, buffers that are not persistent
};
ModuleNames ModuleNamesOf(const ImportedModel& imported);

}  // namespace partita

#endif  // PARTITA_IMPORTER_MODULE_NAMES_H_
