#include "runtime/data/sample_order.h"

#include <algorithm>
#include <limits>

#include "runtime/base/number.h"
#include "runtime/base/status.h"
#include "runtime/data/permutation.h"

namespace partita {
namespace {

template <typename T>
void Write(const std::vector<int64_t>& samples, double weight, std::span<std::byte> out) {
  T* const weights = reinterpret_cast<T*>(out.data());
  for (size_t i = 0; i < samples.size(); ++i) {
    weights[i] = samples[i] == SampleOrder::kNoSample ? T{0} : static_cast<T>(weight);
  }
}

}  // namespace

absl::Status SampleOrder::Check(BatchMode mode, int64_t samples, int64_t batch_rows) {
  constexpr int64_t kMost = std::numeric_limits<uint32_t>::max();
  if (samples < 1 || samples > kMost) {
    return InvalidArgument("data: found {}, allowed are 1 to {}", Counted(samples, "sample"), kMost);
  }
  if (batch_rows < 1 || batch_rows > kMost) {
    return InvalidArgument("batch: found {} rows, allowed are 1 to {}", batch_rows, kMost);
  }
  if (mode == BatchMode::kTraining && samples < batch_rows) {
    return InvalidArgument("data: found {}, a training batch of {} needs at least as many", Counted(samples, "sample"),
                           batch_rows);
  }
  return absl::OkStatus();
}

int64_t SampleOrder::batches_per_epoch() const {
  if (mode_ == BatchMode::kTraining) return count_ / batch_rows_;
  return (count_ + batch_rows_ - 1) / batch_rows_;
}

int64_t SampleOrder::samples() const { return std::min(count_, batches_per_epoch() * batch_rows_); }

std::vector<int64_t> SampleOrder::Samples(int64_t batch, Rows rows) const {
  const Order order = mode_ == BatchMode::kTraining ? OrderOf(batch / batches_per_epoch()) : nullptr;
  const int64_t first = FirstPosition(batch) + rows.begin;
  std::vector<int64_t> samples(static_cast<size_t>(rows.size()), kNoSample);
  for (int64_t i = 0; i < rows.size() && first + i < count_; ++i) {
    samples[i] = order != nullptr ? (*order)[first + i] : first + i;
  }
  return samples;
}

void SampleOrder::WriteWeights(int64_t batch, const std::vector<int64_t>& samples, DType dtype,
                               std::span<std::byte> out) const {
  if (dtype == DType::kF32) {
    Write<float>(samples, Weight(batch), out);
  } else {
    Write<double>(samples, Weight(batch), out);
  }
}

double SampleOrder::Weight(int64_t batch) const {
  const int64_t present = std::min(batch_rows_, count_ - FirstPosition(batch));
  return static_cast<double>(batch_rows_) / static_cast<double>(present);
}

SampleOrder::Order SampleOrder::OrderOf(int64_t epoch) const {
  const std::lock_guard lock(mutex_);
  if (epoch != epoch_) {
    order_ = std::make_shared<const std::vector<uint32_t>>(EpochPermutation(seed_, epoch, count_));
    epoch_ = epoch;
  }
  return order_;
}

}  // namespace partita
