// The texts of the shipped maps, as they were when the program was built.
#ifndef PARTITA_IMPORTER_NAME_MAPS_MAP_TEXTS_H_
#define PARTITA_IMPORTER_NAME_MAPS_MAP_TEXTS_H_

#include <map>
#include <string>

namespace partita {

// By package and model: "torchvision/resnet-50".
const std::map<std::string, std::string>& MapTexts();

}  // namespace partita

#endif  // PARTITA_IMPORTER_NAME_MAPS_MAP_TEXTS_H_
