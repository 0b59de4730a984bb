#include "importer/translation/translations.h"

namespace partita::torch_export {
namespace {

const Translations& AllTranslations() {
  static const auto& translations = *[] {
    auto* const all = new Translations;
    AddElementwise(*all);
    AddActivations(*all);
    AddLogic(*all);
    AddShapes(*all);
    AddIndices(*all);
    AddImages(*all);
    AddNorms(*all);
    AddLayers(*all);
    AddLosses(*all);
    AddRecurrent(*all);
    AddRandom(*all);
    AddReductions(*all);
    AddSamples(*all);
    AddEinsum(*all);
    AddSelection(*all);
    AddParts(*all);
    AddRearranged(*all);
    return all;
  }();
  return translations;
}

}  // namespace

Translate FindTranslation(const std::string& target) {
  const auto found = AllTranslations().find(OpOf(target));
  return found == AllTranslations().end() ? nullptr : found->second;
}

std::vector<std::string> TranslatedOps() {
  std::vector<std::string> ops;
  for (const auto& [name, translate] : AllTranslations()) ops.push_back(name);
  return ops;
}

}  // namespace partita::torch_export
