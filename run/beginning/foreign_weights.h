// The file of --load where it has other names or dimensions than the graph, or fits in part alone (--map,
// --load-partial).
#ifndef PARTITA_RUN_BEGINNING_FOREIGN_WEIGHTS_H_
#define PARTITA_RUN_BEGINNING_FOREIGN_WEIGHTS_H_

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "graph/ir/model.h"
#include "importer/import_model.h"
#include "importer/name_maps/mapped_weights.h"
#include "proto/run.pb.h"
#include "run/beginning/temporary_weights.h"

namespace partita {

struct ForeignWeights {
  std::shared_ptr<const TemporaryWeights> file;  // the states, as the graph has them
  std::set<std::string> missing;                 // states that keep their initial values
};

bool LoadsForeignWeights(const RunSpec& spec);
// FlagError: flags that say how a file is read, without one.
absl::Status CheckForeignFlags(const RunSpec& spec);

// The file of --load as states of the model, which is that of `exported`, or of a graph file (null). States of an
// exported program that are not taken are its own. Floating states have the type `floats`, or else f64 if the file has
// doubles. kInvalidArgument: there is no such map; the file does not fit.
absl::StatusOr<MappedWeights> TakeForeignWeights(const RunSpec& spec, const Model& model, const ImportedModel* exported,
                                                 std::optional<DType> floats = std::nullopt);

// How many tensors were taken, what the file lacked and what the graph lacks: up to three lines.
std::vector<std::string> WhatWasTaken(const std::string& path, const MappedWeights& weights);

// The same as a file, for a run. Logs what was taken.
absl::StatusOr<ForeignWeights> ReadForeignWeights(const RunSpec& spec, const Model& model);

}  // namespace partita

#endif  // PARTITA_RUN_BEGINNING_FOREIGN_WEIGHTS_H_
