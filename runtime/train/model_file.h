// Parameters and running statistics as a safetensors file: whole tensors, whatever the layout that they have.
#ifndef PARTITA_RUNTIME_TRAIN_MODEL_FILE_H_
#define PARTITA_RUNTIME_TRAIN_MODEL_FILE_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "graph/ir/model.h"
#include "runtime/api/session.h"
#include "runtime/checkpoint/safetensors.h"

namespace partita {

// Collective; the process of rank 0 writes. Saves the states of the user's graph, gathered from the ranks, and their
// moving averages; not what else training added (momentum, iteration). kOutOfRange on all ranks: a state has a value
// that is not finite, and what `path` holds stays; the state and the element are named.
absl::Status SaveStates(const Session& session, const Model& model, const std::string& path);

// A file of states of that graph. One with other tensors, or larger ones, is refused by its header, before memory is
// taken for them.
absl::StatusOr<SafetensorsFile> ReadStateFile(const Model& model, const std::string& path);

// To the ranks of this process, of which every process has read the same file: what SaveStates (or another writer)
// saved. A moving average that the file lacks becomes what it is an average of. Collective. kInvalidArgument before any
// state is changed: a state that the file lacks, a tensor that the graph lacks, another type or shape.
absl::Status LoadStates(Session& session, const Model& model, const SafetensorsFile& file);

}  // namespace partita

#endif  // PARTITA_RUNTIME_TRAIN_MODEL_FILE_H_
