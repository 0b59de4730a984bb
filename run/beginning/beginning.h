// The beginning of a run, except its states: the metadata of the file of --load, or of a checkpoint of --resume.
#ifndef PARTITA_RUN_BEGINNING_BEGINNING_H_
#define PARTITA_RUN_BEGINNING_BEGINNING_H_

#include <optional>
#include <string>

#include "absl/status/status.h"
#include "graph/ir/model.h"
#include "runtime/train/model_record.h"
#include "runtime/train/trainer.h"

namespace partita {

struct Beginning {
  std::string path;
  ModelRecord record;
  bool goes_on = false;   // training, from where the record says that it has come to
  bool restarts = false;  // the same run, which may have nothing left to do

  // The training state to resume from; null: training starts from the weights.
  const TrainingPosition* position() const { return goes_on ? &*record.training : nullptr; }
};

// kInvalidArgument: it knows images or classes that the graph, which the command's argument names, does not take.
absl::Status CheckInputs(const std::string& graph, const Beginning& beginning, const Model& model);

// What was done to the images that the model knows; none: nothing says so, or it is not asked.
std::optional<Preprocessing> PreprocessingOf(const std::optional<Beginning>& beginning);

// What became of the bytes of arrays that the model was trained on; none: nothing says so, or it is not asked.
ByteScales ScalesOf(const std::optional<Beginning>& beginning);

// kInvalidArgument: the model knows images, and the data is something else, to which nothing of this can be done; or it
// knows arrays of bytes, and the data is images.
absl::Status CheckImages(const Beginning& beginning, const TrainingData& data);

}  // namespace partita

#endif  // PARTITA_RUN_BEGINNING_BEGINNING_H_
