// The metadata of a model file (docs/reference/model-files.md 2), as text: the preprocessing of images, and the
// training state.
#ifndef PARTITA_RUNTIME_TRAIN_MODEL_RECORD_H_
#define PARTITA_RUNTIME_TRAIN_MODEL_RECORD_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "graph/ir/model.h"
#include "graph/optimizer/optimizer.h"
#include "runtime/checkpoint/safetensors.h"
#include "runtime/data/byte_scale.h"
#include "runtime/data/image_dataset.h"
#include "runtime/data/normalization.h"

namespace partita {

// Of the images that a model knows.
struct Preprocessing {
  ImageShape images;
  int64_t classes = 0;
  Normalization normalization;
  int64_t resize = 0;  // of pictures in files: the shorter side that they are scaled to; 0: the images'
  std::vector<std::string> class_names = {};  // of pictures by class, in the order of the labels; none: they have none
};

// The best result of a test set so far.
struct BestScore {
  std::string metric;  // accuracy, higher is better; or loss
  double value = 0;

  // Also than a score of another metric, which the graph no longer has.
  bool IsBeatenBy(const BestScore& other) const;
};

// How long training has brought nothing better.
struct Stagnation {
  BestScore best;      // of all epochs' evaluations
  int64_t epochs = 0;  // since then
};

// The settings of a run, by name.
using Settings = std::map<std::string, std::string>;

struct TrainingPosition {
  int64_t step = 0;  // steps done, which is the number of the next batch
  Settings run;      // what decides which samples a step sees: the same in a run that goes on
  Settings recipe;   // what a resumed run may change
  std::optional<BestScore> best = {};
  std::optional<Stagnation> stagnation = {};  // that ends training
  std::optional<Stagnation> plateau = {};     // that lowers the learning rate
};

struct ModelRecord {
  std::optional<Preprocessing> preprocessing = {};
  std::optional<TrainingPosition> training = {};
  ByteScales scales = {};  // of arrays of bytes that it was trained on, by the graph's input
};

// Writes the model's optimizer and learning rate to the position's run and recipe. `optimizers`: all there are.
void AddRecipe(const Model& model, const Optimizers& optimizers, TrainingPosition& position);

Metadata ToMetadata(const ModelRecord& record);

// What a file says. Neither part of it where it says nothing of them, as files of other writers and those with
// parameters alone. kInvalidArgument: a text that is no number where one belongs, another count of them, one that is
// out of range, a part without another that it needs; the file and the key are named.
absl::StatusOr<ModelRecord> ReadRecord(const std::string& path, const Metadata& metadata);

// kInvalidArgument unless training of `path` can resume in a run of these settings: which one differs, and what both
// say. Settings that the file does not name are not compared: the library knows nothing of its caller's data.
absl::Status CheckSameRun(const std::string& path, const TrainingPosition& saved, const Settings& run);

// kInvalidArgument unless the images that `source` speaks of are those that the model of `path` knows. `flat`: rows and
// columns do not count.
absl::Status CheckSameImages(const std::string& path, const Preprocessing& saved, const std::string& source,
                             const ImageShape& images, int64_t classes, bool flat);

}  // namespace partita

#endif  // PARTITA_RUNTIME_TRAIN_MODEL_RECORD_H_
