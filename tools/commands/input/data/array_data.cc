#include "tools/commands/input/data/array_data.h"

#include <memory>
#include <utility>

#include "graph/ir/generated_name.h"
#include "runtime/base/status.h"
#include "runtime/data/arrays/array_batches.h"
#include "runtime/data/arrays/array_set.h"
#include "runtime/data/arrays/synthetic_batches.h"
#include "tools/commands/input/data/array_files.h"

namespace partita {
namespace {

constexpr int64_t kMockBatches = 50, kMockTestBatches = 3;

Field WeightsOf(const ArrayRequest& arrays) { return {kSampleWeightName, arrays.floating, {}}; }

// Null where there is no such set, or nobody needs it. What it holds is added to the manifest.
absl::StatusOr<std::shared_ptr<const BatchSource>> ReadSet(const std::string& name, BatchMode mode, Need need,
                                                           const std::optional<std::vector<FieldFile>>& files,
                                                           const ArrayRequest& arrays, std::string& manifest) {
  if (!files || need == Need::kNo) return nullptr;
  ASSIGN_OR_RETURN(std::vector<ArrayField> fields, ReadArraySet(name, *files, arrays.wanted));
  manifest += fmt::format("{} samples, {:016x}; ", fields[0].rows, Digest(fields));
  absl::StatusOr<std::shared_ptr<ArrayBatches>> batches =
      ArrayBatches::Create(std::move(fields), {mode, arrays.batch_rows, arrays.seed, WeightsOf(arrays)});
  if (!batches.ok()) return WithContext(name, batches.status());
  return *std::move(batches);
}

}  // namespace

absl::StatusOr<TrainingData> ArrayData(const std::string& path, const ArrayRequest& arrays,
                                       const DataRequest& request) {
  ASSIGN_OR_RETURN(const ArrayFiles files, FindArrayFiles(path));
  TrainingData data;
  ASSIGN_OR_RETURN(data.training, ReadSet(path + ", training set", BatchMode::kTraining, request.training, files.train,
                                          arrays, data.manifest));
  ASSIGN_OR_RETURN(
      data.test, ReadSet(path + ", test set", BatchMode::kEvaluation, request.test, files.test, arrays, data.manifest));
  return data;
}

TrainingData SyntheticData(const ArrayRequest& arrays) {
  const auto make = [&](int64_t batches, uint64_t seed) {
    return std::make_shared<const SyntheticBatches>(
        arrays.wanted, SyntheticOptions{arrays.batch_rows, batches, seed, WeightsOf(arrays)});
  };
  return {make(kMockBatches, arrays.seed), make(kMockTestBatches, arrays.seed + 1), "random"};
}

}  // namespace partita
