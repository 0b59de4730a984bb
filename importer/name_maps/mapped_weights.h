// Weights of other programs' files as states of a graph, and back.
#ifndef PARTITA_IMPORTER_NAME_MAPS_MAPPED_WEIGHTS_H_
#define PARTITA_IMPORTER_NAME_MAPS_MAPPED_WEIGHTS_H_

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "graph/ir/graph.h"
#include "importer/name_maps/name_map.h"
#include "runtime/checkpoint/safetensors.h"

namespace partita {

struct MappingOptions {
  // Patterns of states that may be missing in the file or have another shape there, and of tensors of the file that the
  // graph may lack. Empty: all must fit.
  std::vector<std::string> partial = {};
  std::set<std::string> own = {};         // states that no file of others has: constants, adapters
  DType floats = DType::kF32;             // of the floating states that are made, unless the graph has f64
  const SafetensorsFile* rest = nullptr;  // has states that `file` lacks, under the graph's names
};

struct MappedWeights {
  SafetensorsFile states;          // under the graph's names, in its order
  int64_t taken = 0, in_file = 0;  // tensors of the file
  std::vector<std::string> kept;   // states that are not in the file, with the reason
  std::vector<std::string> left;   // tensors of the file that the graph does not take
  std::set<std::string> missing;   // states that `states` does not have
};

// Takes floats of 16, 32 and 64 bits and integers. kInvalidArgument: states or tensors that do not fit, all of them; a
// type that is not read.
absl::StatusOr<MappedWeights> TakeWeights(const SafetensorsFile& file, const Graph& graph, const NameMap& map,
                                          const MappingOptions& options);

// Writes the states of `trained` under the map's names and in its order. kInvalidArgument: a state that `trained`
// lacks, that the map does not name, unless a pattern of `partial` matches it, or of another shape; a tensor of which
// the graph has a part alone.
absl::Status SaveUnderMap(const SafetensorsFile& trained, const Graph& graph, const NameMap& map,
                          const std::string& path, const std::vector<std::string>& partial = {});

// Whether all tensors of the file, but what training added, are states of the graph by their names.
bool HasNamesOf(const SafetensorsFile& file, const Graph& graph);

}  // namespace partita

#endif  // PARTITA_IMPORTER_NAME_MAPS_MAPPED_WEIGHTS_H_
