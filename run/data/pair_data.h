// Parallel texts as batches: a folder with a vocabulary, sentences and their translations.
#ifndef PARTITA_RUN_DATA_PAIR_DATA_H_
#define PARTITA_RUN_DATA_PAIR_DATA_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "proto/run.pb.h"
#include "run/data/array_data.h"
#include "run/data/data.h"
#include "runtime/train/trainer.h"

namespace partita {

// Whether `path` is a folder with vocabulary.txt and a side of a parallel text: train or test, .source.txt or
// .target.txt.
bool HoldsPairs(const std::string& path);

// The sets that `path` has and `request` needs: both sides of each, or sources alone if no target is needed.
// kInvalidArgument: a vocabulary without the marks, or of another size than a table that its ids index. Logs a warning
// for pairs that --long-pairs skips or cuts.
absl::StatusOr<TrainingData> PairData(const std::string& path, const RunSpec& spec, const ArrayRequest& fields,
                                      const DataRequest& request);

}  // namespace partita

#endif  // PARTITA_RUN_DATA_PAIR_DATA_H_
