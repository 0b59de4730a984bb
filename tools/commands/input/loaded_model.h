// The file of --load: what is taken from it, known before there is a session.
#ifndef PARTITA_TOOLS_COMMANDS_INPUT_LOADED_MODEL_H_
#define PARTITA_TOOLS_COMMANDS_INPUT_LOADED_MODEL_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "graph/ir/model.h"
#include "runtime/train/model_file.h"
#include "runtime/train/trainer.h"
#include "tools/program/flags.h"

namespace partita {

// Flags that OpenLoaded reads.
std::vector<std::string> LoadFlags();  // load, load-weights-only

struct LoadedModel {
  ModelFile file;
  States states = States::kAll;

  // Where training goes on; null: it begins with the weights of the file.
  const TrainingPosition* position() const;
};

// Nothing where --load is not given. `trains`: training goes on from a file that has its state; other commands take
// what evaluation reads. kInvalidArgument: a file that does not suit the graph, or knows images or classes that the
// graph does not take.
absl::StatusOr<std::optional<LoadedModel>> OpenLoaded(const Flags& flags, const Model& model, bool trains);

// What was done to the images that the model knows; none: no file says so, or it is not asked.
std::optional<Normalization> NormalizationOf(const std::optional<LoadedModel>& loaded);

// kInvalidArgument: the file knows images, and the data is something else, to which nothing of this can be done.
absl::Status CheckImages(const LoadedModel& loaded, const TrainingData& data);

}  // namespace partita

#endif  // PARTITA_TOOLS_COMMANDS_INPUT_LOADED_MODEL_H_
