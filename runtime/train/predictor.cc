#include "runtime/train/predictor.h"

#include <algorithm>

#include "graph/value/node_name.h"
#include "runtime/base/status.h"
#include "runtime/train/set_walk.h"

namespace partita {
namespace {

// Empty tensors of the values' types, to which rows are added.
absl::StatusOr<Predictions> NoRows(const EntryPoint& entry, int64_t batch_rows) {
  Predictions predictions;
  for (const EntryResult& result : entry.results) {
    const TensorType& type = entry.graph.type(result.value);
    if (type.shape.empty() || type.shape[0] != batch_rows) {
      return InvalidArgument("value {} is {}{}; what is predicted has a row for each of the {} samples of a batch",
                             Quoted(result.name), Name(type.dtype), ToString(type.shape), batch_rows);
    }
    predictions.push_back({type.dtype, type.shape, {}});
    predictions.back().shape[0] = 0;
  }
  return predictions;
}

void AddRows(const std::vector<HostTensor>& batch, int64_t rows, Predictions& predictions) {
  for (size_t v = 0; v < batch.size(); ++v) {
    const auto row_bytes = static_cast<int64_t>(batch[v].bytes.size()) / batch[v].shape[0];
    predictions[v].bytes.insert(predictions[v].bytes.end(), batch[v].bytes.begin(),
                                batch[v].bytes.begin() + rows * row_bytes);
    predictions[v].shape[0] += rows;
  }
}

// Nothing was predicted of a sample that is empty.
void ClearRow(int64_t row, Predictions& predictions) {
  for (HostTensor& tensor : predictions) {
    const size_t row_bytes = tensor.bytes.size() / static_cast<size_t>(tensor.shape[0]);
    std::fill_n(tensor.bytes.begin() + static_cast<int64_t>(static_cast<size_t>(row) * row_bytes), row_bytes, '\0');
  }
}

}  // namespace

absl::StatusOr<std::optional<Predictions>> PredictSet(Session& session, std::shared_ptr<const BatchSource> source,
                                                      const std::atomic<int>* stop) {
  ASSIGN_OR_RETURN(const int entry, session.program().PlaceOf(kPredictEntry));
  ASSIGN_OR_RETURN(Predictions predictions, NoRows(session.program().entries[entry], source->batch_rows()));
  if (source->buckets() > 1) {
    return InvalidArgument("predictions are in the order of the set; data in {} buckets has another",
                           source->buckets());
  }
  const auto take = [&](const WalkedBatch& batch) -> absl::Status {
    ASSIGN_OR_RETURN(const std::vector<HostTensor> values, session.FinishPrediction());
    const int64_t first = batch.number * source->batch_rows();
    const int64_t rows = std::min(source->batch_rows(), source->samples() - first);
    AddRows(values, rows, predictions);
    for (int64_t row = 0; row < rows; ++row) {
      if (source->is_empty(first + row)) ClearRow(first + row, predictions);
    }
    return absl::OkStatus();
  };
  ASSIGN_OR_RETURN(const bool whole, WalkSet(session, kPredictEntry, source, stop, take));
  if (!whole) return std::nullopt;
  return predictions;
}

}  // namespace partita
