// Text as batches: a folder with the words that a model knows, and texts of them.
#ifndef PARTITA_TOOLS_COMMANDS_INPUT_DATA_TEXT_DATA_H_
#define PARTITA_TOOLS_COMMANDS_INPUT_DATA_TEXT_DATA_H_

#include <string>

#include "absl/status/statusor.h"
#include "runtime/train/trainer.h"
#include "tools/commands/input/data/array_data.h"
#include "tools/commands/input/data/data.h"

namespace partita {

// Whether `path` is a folder with vocabulary.txt.
bool HoldsText(const std::string& path);

// The texts of `path` that are there and that `request` needs: train.txt and test.txt, or train.ids and test.ids.
// kInvalidArgument: a text in both forms; a vocabulary that is not as large as a table that its ids choose rows of.
absl::StatusOr<TrainingData> TextData(const std::string& path, const ArrayRequest& fields, const DataRequest& request);

}  // namespace partita

#endif  // PARTITA_TOOLS_COMMANDS_INPUT_DATA_TEXT_DATA_H_
