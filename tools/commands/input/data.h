// The data set that a command's flags speak of, as batches for a graph.
#ifndef PARTITA_TOOLS_COMMANDS_INPUT_DATA_H_
#define PARTITA_TOOLS_COMMANDS_INPUT_DATA_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/data/augmentation.h"
#include "runtime/train/image_inputs.h"
#include "runtime/train/trainer.h"
#include "tools/program/flags.h"

namespace partita {

// Flags that ReadData reads.
std::vector<std::string> DataFlags();  // data, mock-data, seed

// The sets of --data (Fashion-MNIST by default), or random ones of the graph's own size with --mock-data; checked
// against the graph. `augmentation` is done to training images alone.
absl::StatusOr<TrainingData> ReadData(const Flags& flags, const ImageInputs& inputs, const Augmentation& augmentation);

}  // namespace partita

#endif  // PARTITA_TOOLS_COMMANDS_INPUT_DATA_H_
