// Weights with their adapters merged into them, as files without adapters have them.
#ifndef PARTITA_IMPORTER_MERGED_ADAPTERS_H_
#define PARTITA_IMPORTER_MERGED_ADAPTERS_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "graph/ir/graph.h"
#include "runtime/checkpoint/adapter_folder.h"
#include "runtime/checkpoint/safetensors.h"

namespace partita {

// The states of the user's graph in a file of weights: w + alpha / rank * B A for each adapted weight w (its transpose
// where w is [in, out]), added in f64 and rounded once. `adapted`: the graph with its adapters. `folder`: has the
// adapters, and what was trained beside them, in place of the file; nullptr: they are in the file. kInvalidArgument: a
// tensor is missing, or has another shape or type.
absl::StatusOr<SafetensorsFile> MergeAdapters(const Graph& adapted, const SafetensorsFile& weights,
                                              const AdapterFolder* folder);

// Writes it as a file of weights for runs.
absl::Status SaveMerged(const SafetensorsFile& merged, const std::string& path);

// Whether the file has adapters that a graph without them would not read.
bool HasAdapters(const SafetensorsFile& weights);

}  // namespace partita

#endif  // PARTITA_IMPORTER_MERGED_ADAPTERS_H_
