// The file of --load where it has other names or dimensions than the graph, or fits in part alone (--map,
// --load-partial).
#ifndef PARTITA_RUN_BEGINNING_FOREIGN_WEIGHTS_H_
#define PARTITA_RUN_BEGINNING_FOREIGN_WEIGHTS_H_

#include <memory>
#include <set>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "graph/ir/model.h"
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

// Logs what is taken and what is not. States of an exported program that are not taken are its own.
// kInvalidArgument: there is no such map; the file does not fit.
absl::StatusOr<ForeignWeights> ReadForeignWeights(const RunSpec& spec, const Model& model);

}  // namespace partita

#endif  // PARTITA_RUN_BEGINNING_FOREIGN_WEIGHTS_H_
