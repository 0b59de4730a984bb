// Named arrays as batches: those of files, or random ones of any form.
#ifndef PARTITA_RUN_DATA_ARRAY_DATA_H_
#define PARTITA_RUN_DATA_ARRAY_DATA_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "run/data/data.h"
#include "runtime/data/batch_source.h"
#include "runtime/train/trainer.h"

namespace partita {

// What a graph takes from arrays.
struct ArrayRequest {
  std::vector<WantedField> wanted;
  std::vector<std::vector<WantedField>> further =
      {};  // the same in other sizes, for data whose batches may have several
  int64_t batch_rows = 0;
  DType floating = DType::kF32;
  uint64_t seed = 0;
};

// The sets of `path` (run/data/array_files.h) that are there and that `request` needs.
absl::StatusOr<TrainingData> ArrayData(const std::string& path, const ArrayRequest& arrays, const DataRequest& request);

TrainingData SyntheticData(const ArrayRequest& arrays);

}  // namespace partita

#endif  // PARTITA_RUN_DATA_ARRAY_DATA_H_
