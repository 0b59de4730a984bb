#include "tools/service/predict_batcher.h"

#include <algorithm>
#include <utility>

#include "runtime/base/exhaustion.h"
#include "runtime/base/number.h"
#include "runtime/base/status.h"
#include "tools/service/requests/status_of.h"

namespace partita::service {
namespace {

// The rows that all fields have; 0: they differ, or there are none.
int64_t SamplesOf(const api::Fields& fields) {
  int64_t samples = 0;
  for (const auto& [name, view] : fields) {
    const int64_t rows = view.shape.empty() ? 0 : view.shape[0];
    if (rows < 1 || (samples != 0 && rows != samples)) return 0;
    samples = rows;
  }
  return samples;
}

bool HaveAlikeRows(const api::Fields& a, const api::Fields& b) {
  return std::ranges::equal(a, b, [](const auto& one, const auto& other) {
    return one.first == other.first && one.second.type == other.second.type &&
           std::equal(one.second.shape.begin() + 1, one.second.shape.end(), other.second.shape.begin() + 1,
                      other.second.shape.end());
  });
}

size_t BytesOf(const api::View& view) {
  size_t bytes = view.type == api::Type::kF64 ? 8 : view.type == api::Type::kU8 ? 1 : 4;
  for (const int64_t size : view.shape) bytes *= static_cast<size_t>(size);
  return bytes;
}

// The rows `first` to `first + count` of a tensor of `samples` rows.
api::Tensor RowsOf(const api::Tensor& whole, int64_t samples, int64_t first, int64_t count) {
  const size_t row_bytes = whole.bytes.size() / static_cast<size_t>(samples);
  const auto begin = whole.bytes.begin() + static_cast<std::ptrdiff_t>(row_bytes * static_cast<size_t>(first));
  api::Tensor rows{whole.type, whole.shape, {}};
  rows.shape[0] = count;
  rows.bytes.assign(begin, begin + static_cast<std::ptrdiff_t>(row_bytes * static_cast<size_t>(count)));
  return rows;
}

}  // namespace

PredictBatcher::PredictBatcher(api::Session session, const BatchLimits& limits, OnBatch on_batch)
    : session_(std::move(session)), limits_(limits), on_batch_(std::move(on_batch)), worker_([this] { Work(); }) {}

PredictBatcher::~PredictBatcher() {
  {
    const std::lock_guard lock(mutex_);
    stops_ = true;
    arrived_.notify_all();
  }
  worker_.join();
}

absl::StatusOr<Values> PredictBatcher::Predict(const api::Fields& fields, std::chrono::system_clock::time_point until) {
  Request request{&fields, SamplesOf(fields), std::chrono::steady_clock::now()};
  std::unique_lock lock(mutex_);
  if (static_cast<int64_t>(queue_.size()) >= limits_.waiting) {
    return ResourceExhausted("{} wait for this model already (--predict-queue); try again later",
                             Counted(limits_.waiting, "prediction"));
  }
  queue_.push_back(&request);
  arrived_.notify_one();
  done_.wait_until(lock, until, [&] { return request.result.has_value(); });
  if (!request.result && !request.begun) {
    std::erase(queue_, &request);
    return absl::DeadlineExceededError("the deadline passed before the prediction began");
  }
  done_.wait(lock, [&] { return request.result.has_value(); });  // its fields are being read
  return *std::move(request.result);
}

// The samples of the first request and of those behind it that can be computed with it; the caller holds the mutex.
int64_t PredictBatcher::Matching() const {
  int64_t samples = 0;
  for (const Request* const request : queue_) {
    if (request->samples == 0 || !HaveAlikeRows(*request->fields, *queue_.front()->fields)) break;
    samples += request->samples;
  }
  return samples;
}

PredictBatcher::Batch PredictBatcher::NextBatch() {
  Batch batch;
  int64_t samples = 0;
  while (!queue_.empty()) {
    Request& request = *queue_.front();
    samples += request.samples;
    const bool fits = request.samples > 0 && samples <= limits_.samples &&
                      (batch.empty() || HaveAlikeRows(*request.fields, *batch[0]->fields));
    if (!batch.empty() && !fits) break;
    request.begun = true;
    batch.push_back(&request);
    queue_.pop_front();
    if (!fits) break;
  }
  return batch;
}

void PredictBatcher::Work() {
  std::unique_lock lock(mutex_);
  for (;;) {
    arrived_.wait(lock, [&] { return stops_ || !queue_.empty(); });
    if (stops_) return;
    const auto delay = std::chrono::duration_cast<std::chrono::steady_clock::duration>(limits_.delay);
    arrived_.wait_until(lock, queue_.front()->arrival + delay, [&] {
      return queue_.empty() || queue_.front()->samples == 0 || Matching() >= limits_.samples;
    });
    const Batch batch = NextBatch();
    if (batch.empty()) continue;  // its caller has left
    lock.unlock();
    Compute(batch);
    lock.lock();
    done_.notify_all();
  }
}

// One wrong request is no error of the others.
void PredictBatcher::Compute(const Batch& batch) {
  int64_t samples = 0;
  for (const Request* const request : batch) samples += std::max<int64_t>(request->samples, 1);
  on_batch_(static_cast<int64_t>(batch.size()), samples);
  if (batch.size() > 1 && ComputeTogether(batch)) return;
  for (Request* const request : batch) {
    absl::StatusOr<Values> values = ComputeAlone(*request);
    const std::lock_guard lock(mutex_);
    request->result = std::move(values);
  }
}

absl::StatusOr<Values> PredictBatcher::ComputeAlone(const Request& request) {
  return OrExhausted("the prediction", [&] { return ValueOf(session_.Predict(*request.fields)); });
}

bool PredictBatcher::ComputeTogether(const Batch& batch) {
  const auto together = [&]() -> absl::StatusOr<std::vector<Values>> {
    api::Fields whole = *batch[0]->fields;
    std::map<std::string, std::string> rows;  // owns what the views of `whole` show
    int64_t samples = 0;
    for (const Request* const request : batch) {
      samples += request->samples;
      for (const auto& [name, view] : *request->fields) {
        rows[name].append(static_cast<const char*>(view.data), BytesOf(view));
      }
    }
    for (auto& [name, view] : whole) {
      view.shape[0] = samples;
      view.data = rows.at(name).data();
    }
    ASSIGN_OR_RETURN(const Values values, ValueOf(session_.Predict(whole)));
    std::vector<Values> split(batch.size());
    for (const auto& [name, value] : values) {
      if (value.shape.empty() || value.shape[0] != samples) return Internal("value {} has no rows", name);
      int64_t first = 0;
      for (size_t r = 0; r < batch.size(); ++r) {
        split[r].emplace(name, RowsOf(value, samples, first, batch[r]->samples));
        first += batch[r]->samples;
      }
    }
    return split;
  };
  absl::StatusOr<std::vector<Values>> split = OrExhausted("the prediction", together);
  if (!split.ok()) return false;
  const std::lock_guard lock(mutex_);
  for (size_t r = 0; r < batch.size(); ++r) batch[r]->result = std::move((*split)[r]);
  return true;
}

}  // namespace partita::service
