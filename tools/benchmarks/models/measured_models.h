// The models of `benchmark models`: some that are shipped, and two that are there to be measured.
//
//   conv-stack   a stem and eight 3 x 3 convolutions of 128 channels, each with batch norm and relu
//   wide-mlp     four hidden layers of 4096 units
//
// and of the models of words big-lstm with one fourth of its units, half of its outputs and 100,000 words, 2048-512 in
// two layers, gnmt with sentences of 27 and 28 words, gpt2 with sequences of 512, and bert-base and t5-small of 128.
#ifndef PARTITA_TOOLS_BENCHMARKS_MODELS_MEASURED_MODELS_H_
#define PARTITA_TOOLS_BENCHMARKS_MODELS_MEASURED_MODELS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "graph/ir/model.h"

namespace partita {

struct MeasuredModel {
  std::string name;
  int64_t batch = 0;
  int64_t image_size = 0;   // pixels, square; 0: it reads no images
  bool only_alone = false;  // measured if it is asked for: takes long
  bool dropout = true;      // where the model has any
  // Of a model of words; 0: as it is compared.
  int64_t vocabulary = 0, hidden = 0, layers = 0, length = 0;

  bool of_words() const { return image_size == 0; }
};

// "hidden=256": the sizes of a model of words that are given, as flags have them (tools/models/build_model.cc).
std::vector<std::string> GivenSizes(const MeasuredModel& model);

// The unit in which throughput is reported.
struct ThroughputUnit {
  std::string name = "images";  // or "words"
  int64_t of_sample = 1;        // units per sample; for words, the predicted ones
};

// kInvalidArgument: as MakeMeasuredModel.
absl::StatusOr<ThroughputUnit> UnitOf(const MeasuredModel& sizes);

// At the sizes at which they are compared.
const std::vector<MeasuredModel>& MeasuredModels();
// The first of that name; one that is not among them, but in tools/models/models.h: 64 images of 28 x 28.
MeasuredModel MeasuredModelOf(const std::string& name);
// Each once.
std::vector<std::string> MeasuredModelNames();

// kInvalidArgument: an unknown name, or sizes that the model cannot have.
absl::StatusOr<Model> MakeMeasuredModel(const MeasuredModel& sizes);

}  // namespace partita

#endif  // PARTITA_TOOLS_BENCHMARKS_MODELS_MEASURED_MODELS_H_
