#include "run/data/array_data.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <utility>

#include "graph/ir/generated_name.h"
#include "graph/value/node_name.h"
#include "run/data/array_files.h"
#include "run/data/class_weights.h"
#include "run/host/log.h"
#include "runtime/base/status.h"
#include "runtime/data/arrays/array_batches.h"
#include "runtime/data/arrays/array_set.h"
#include "runtime/data/arrays/synthetic_batches.h"

namespace partita {
namespace {

constexpr int64_t kMockBatches = 50, kMockTestBatches = 3;
constexpr size_t kMostNames = 240;  // bytes of names in a line of the log

Field WeightsOf(const ArrayRequest& arrays) { return {kSampleWeightName, arrays.floating, {}}; }

// Bytes become what the data says, and else what they were in the training of a model that is loaded.
absl::Status FollowModel(const ByteScales& known, ArrayField& field) {
  const auto found = known.find(field.field.name);
  if (found == known.end() || (field.scaled() && field.scale == found->second)) return absl::OkStatus();
  if (field.scaled() && !field.scale.given()) return ScaleBytes(found->second, field);
  return InvalidArgument(
      "{}: field {}: found {}; in the training of the model that is loaded bytes became {}; with --load-weights-only "
      "its "
      "weights are taken alone",
      field.array, Quoted(field.field.name), field.scaled() ? "bytes that become " + ToString(field.scale) : "numbers",
      ToString(found->second));
}

// Adds what becomes of a set's bytes, which is the same in both.
absl::Status AddScales(const std::vector<ArrayField>& fields, ByteScales& scales) {
  for (const ArrayField& field : fields) {
    if (!field.scaled()) continue;
    const ByteScale mine = field.scale.given() ? field.scale : PlainBytes();
    const ByteScale& first = scales.emplace(field.field.name, mine).first->second;
    if (mine == first) continue;
    return InvalidArgument("{}: field {}: bytes become {}, those of the training set {}; allowed is the same of both",
                           field.array, Quoted(field.field.name), ToString(mine), ToString(first));
  }
  return absl::OkStatus();
}

// Of fields of labels.
void CountEachLabel(const std::vector<WantedField>& wanted, const std::vector<ArrayField>& fields, TrainingData& data) {
  for (const WantedField& want : wanted) {
    if (want.classes == 0 || want.ids || want.field.dtype != DType::kI32) continue;
    const auto field = std::ranges::find_if(fields, [&](const ArrayField& f) { return f.field == want.field; });
    if (field == fields.end()) continue;
    std::vector<int32_t> labels(field->bytes.size() / sizeof(int32_t));
    std::memcpy(labels.data(), field->bytes.data(), labels.size() * sizeof(int32_t));
    data.label_counts[want.field.name] = CountLabels(labels, want.classes);
  }
}

// Null where there is no such set, or nobody needs it. What it holds is added to what `data` says.
absl::StatusOr<std::shared_ptr<const BatchSource>> ReadSet(const std::string& name, BatchMode mode, Need need,
                                                           const FoundSet& found, const ArrayRequest& arrays,
                                                           const DataRequest& request, TrainingData& data) {
  if (need == Need::kNo) return nullptr;
  RETURN_IF_ERROR(found.status());
  if (!*found) return nullptr;
  ASSIGN_OR_RETURN(ArraySet read, ReadArraySet(name, **found, arrays.wanted));
  if (!read.ignored.empty()) {
    Tell("{}: ignored are arrays that the graph does not take: {}", name,
         Printable(fmt::format("{}", fmt::join(read.ignored, ", ")), kMostNames));
  }
  std::vector<ArrayField>& fields = read.fields;
  for (ArrayField& field : fields) RETURN_IF_ERROR(FollowModel(request.scales, field));
  RETURN_IF_ERROR(AddScales(fields, data.scales));
  if (request.counts_labels && mode == BatchMode::kTraining) CountEachLabel(arrays.wanted, fields, data);
  data.manifest += fmt::format("{} samples, {:016x}; ", fields[0].rows, Digest(fields));
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
                                          arrays, request, data));
  ASSIGN_OR_RETURN(
      data.test, ReadSet(path + ", test set", BatchMode::kEvaluation, request.test, files.test, arrays, request, data));
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
