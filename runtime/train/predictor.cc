#include "runtime/train/predictor.h"

#include <algorithm>

#include "graph/value/node_name.h"
#include "runtime/base/status.h"
#include "runtime/train/batch_feed.h"
#include "runtime/train/stop_vote.h"

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

}  // namespace

absl::StatusOr<std::optional<Predictions>> PredictSet(Session& session, std::shared_ptr<const BatchSource> source,
                                                      const std::atomic<int>* stop) {
  const int64_t batches = source->batches_per_epoch(), batch_rows = source->batch_rows();
  ASSIGN_OR_RETURN(Predictions predictions, NoRows(*session.program().Find(kPredictEntry), batch_rows));
  ASSIGN_OR_RETURN(const BatchFeed feed, BatchFeed::Create(session, kPredictEntry, source));
  ASSIGN_OR_RETURN(const std::unique_ptr<Prefetcher> prefetcher, feed.Prefetch(0, batches));
  const auto stage = [&]() -> absl::Status {
    ASSIGN_OR_RETURN(const Batch* const batch, prefetcher->Next());
    feed.Stage(*batch);
    return absl::OkStatus();
  };
  if (batches > 0) RETURN_IF_ERROR(stage());
  for (int64_t b = 0; b < batches; ++b) {
    ASSIGN_OR_RETURN(const int stopped_by, VoteToStop(session, stop));
    if (stopped_by != 0) return std::nullopt;
    const bool last = b + 1 == batches;
    ASSIGN_OR_RETURN(const std::vector<HostTensor> values, session.Predict(last ? Session::InputFiller() : stage));
    AddRows(values, std::min(batch_rows, source->samples() - b * batch_rows), predictions);
  }
  return predictions;
}

}  // namespace partita
