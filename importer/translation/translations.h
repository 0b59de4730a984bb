// The translations of PyTorch's ops, one family a file.
#ifndef PARTITA_IMPORTER_TRANSLATION_TRANSLATIONS_H_
#define PARTITA_IMPORTER_TRANSLATION_TRANSLATIONS_H_

#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "importer/program/node_arguments.h"
#include "importer/translation/translator.h"

namespace partita::torch_export {

// What translates the nodes of a target, "conv2d" of torch.ops.aten.conv2d.default. nullptr: nothing does.
using Translate = absl::Status (*)(Translator& translator, const Node& node);
Translate FindTranslation(const std::string& target);
// The names of those ops, without the underscore of writes.
std::vector<std::string> TranslatedOps();

// The translations of each family, by name.
using Translations = std::map<std::string, Translate>;
void AddElementwise(Translations& translations);  // elementwise.cc
void AddActivations(Translations& translations);  // activations.cc
void AddLogic(Translations& translations);        // logic.cc
void AddShapes(Translations& translations);       // shapes.cc
void AddIndices(Translations& translations);      // indices.cc
void AddImages(Translations& translations);       // images.cc
void AddNorms(Translations& translations);        // norms.cc
void AddLayers(Translations& translations);       // layers.cc
void AddLosses(Translations& translations);       // losses.cc
void AddRecurrent(Translations& translations);    // recurrent.cc
void AddRandom(Translations& translations);       // random.cc
void AddReductions(Translations& translations);   // reductions.cc
void AddSamples(Translations& translations);      // samples.cc
void AddEinsum(Translations& translations);       // einsum.cc
void AddSelection(Translations& translations);    // selection.cc
void AddParts(Translations& translations);        // parts.cc
void AddRearranged(Translations& translations);   // rearranged.cc

}  // namespace partita::torch_export

#endif  // PARTITA_IMPORTER_TRANSLATION_TRANSLATIONS_H_
