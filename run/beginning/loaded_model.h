// The file of --load: what is taken from it, known before there is a session.
#ifndef PARTITA_RUN_BEGINNING_LOADED_MODEL_H_
#define PARTITA_RUN_BEGINNING_LOADED_MODEL_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "graph/ir/model.h"
#include "proto/run.pb.h"
#include "run/beginning/beginning.h"
#include "run/beginning/foreign_weights.h"
#include "runtime/train/model_file.h"

namespace partita {

struct LoadedModel {
  ModelFile file;
  States states = States::kAll;
  std::optional<ForeignWeights> foreign = std::nullopt;  // made the file, which is gone with it

  Beginning beginning() const;
};

// Empty without --load. `trains`: training resumes from a file with a training state; other commands read what
// evaluation needs. kInvalidArgument: a file that does not fit the graph, or has images or classes that the graph does
// not accept.
absl::StatusOr<std::optional<LoadedModel>> OpenLoaded(const RunSpec& spec, const Model& model, bool trains);

}  // namespace partita

#endif  // PARTITA_RUN_BEGINNING_LOADED_MODEL_H_
