// Parallel texts as batches: a folder with a vocabulary, sentences and their translations.
#ifndef PARTITA_TOOLS_COMMANDS_INPUT_DATA_PAIR_DATA_H_
#define PARTITA_TOOLS_COMMANDS_INPUT_DATA_PAIR_DATA_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/train/trainer.h"
#include "tools/commands/input/data/array_data.h"
#include "tools/commands/input/data/data.h"
#include "tools/program/flags.h"

namespace partita {

// Flags of parallel texts alone that PairData reads.
std::vector<std::string> PairFlags();  // long-pairs

// Whether `path` is a folder with vocabulary.txt and a side of a parallel text: train or test, .source.txt or
// .target.txt.
bool HoldsPairs(const std::string& path);

// The sets of `path` that are there and that `request` needs: of each both sides, or sources alone where nothing of
// targets is needed. kInvalidArgument: a vocabulary without the marks, or not as large as a table that its ids choose
// rows of. Pairs that --long-pairs leaves out or cuts are warned of.
absl::StatusOr<TrainingData> PairData(const std::string& path, const Flags& flags, const ArrayRequest& fields,
                                      const DataRequest& request);

}  // namespace partita

#endif  // PARTITA_TOOLS_COMMANDS_INPUT_DATA_PAIR_DATA_H_
