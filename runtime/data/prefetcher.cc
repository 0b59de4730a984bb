#include "runtime/data/prefetcher.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "runtime/base/exhaustion.h"
#include "runtime/base/memory.h"
#include "runtime/base/status.h"

namespace partita {
namespace {

absl::Status CheckOptions(const BatchSource& source, const PrefetchOptions& options) {
  for (const Rows& rows : options.ranks) {
    if (rows.begin < 0 || rows.end < rows.begin || rows.end > source.batch_rows()) {
      return InvalidArgument("prefetch: found rows [{}, {}), a batch has rows 0 to {}", rows.begin, rows.end,
                             source.batch_rows());
    }
  }
  if (options.depth < 1 || options.first_batch < 0 || options.batch_count < -1) {
    return InvalidArgument("prefetch: found depth {}, first batch {}, batch count {}; allowed are from 1, 0, -1",
                           options.depth, options.first_batch, options.batch_count);
  }
  return absl::OkStatus();
}

constexpr char kDataErrorPayload[] = "partita/data-error";

using Clock = std::chrono::steady_clock;

double SecondsSince(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

// Rows of a field, and room up to where rows of any type may begin.
int64_t AlignedBytes(const Field& field, const Rows& rows) {
  constexpr int64_t kAlignment = alignof(std::max_align_t);
  return (rows.size() * field.row_bytes() + kAlignment - 1) / kAlignment * kAlignment;
}

}  // namespace

bool IsDataError(const absl::Status& status) { return status.GetPayload(kDataErrorPayload).has_value(); }

absl::StatusOr<std::unique_ptr<Prefetcher>> Prefetcher::Start(std::shared_ptr<const BatchSource> source,
                                                              PrefetchOptions options) {
  RETURN_IF_ERROR(CheckOptions(*source, options));
  return OrExhausted("prefetch", [&]() -> absl::StatusOr<std::unique_ptr<Prefetcher>> {
    std::unique_ptr<Prefetcher> result(new Prefetcher(std::move(source), std::move(options)));
    RETURN_IF_ERROR(result->Allocate());
    result->thread_ = std::thread([prefetcher = result.get()] { prefetcher->Run(); });
    return result;
  });
}

Prefetcher::Prefetcher(std::shared_ptr<const BatchSource> source, PrefetchOptions options)
    : source_(std::move(source)), options_(std::move(options)) {
  for (const Rows& rows : options_.ranks) {
    const auto found = std::find(blocks_.begin(), blocks_.end(), rows);
    block_of_rank_.push_back(found - blocks_.begin());
    if (found == blocks_.end()) blocks_.push_back(rows);
  }
}

absl::Status Prefetcher::Allocate() {
  const int64_t slots = Slots(options_);
  RETURN_IF_ERROR(
      CheckMemory(fmt::format("prefetch of {} batches of {} rows", slots, source_->batch_rows()), slots * SlotBytes()));
  for (int64_t i = 0; i < slots; ++i) slots_.push_back(MakeSlot());
  return absl::OkStatus();
}

int64_t Prefetcher::SlotBytes() const {
  int64_t bytes = 0;
  for (const Rows& block : blocks_) {
    for (const Field& field : source_->fields()) bytes += AlignedBytes(field, block);
  }
  return bytes;
}

Prefetcher::~Prefetcher() {
  Stop();
  if (thread_.joinable()) thread_.join();
}

Prefetcher::Slot Prefetcher::MakeSlot() const {
  Slot slot;
  slot.memory = std::make_unique<std::byte[]>(static_cast<size_t>(SlotBytes()));
  slot.buffers.resize(blocks_.size());
  for (const size_t block : block_of_rank_) slot.batch.parts.push_back({blocks_[block], {}});
  Divide(source_->buckets() - 1, slot);
  return slot;
}

// Gives the fields of a bucket their places. Only the first time vectors grow.
void Prefetcher::Divide(int64_t bucket, Slot& slot) const {
  slot.batch.bucket = bucket;
  std::byte* next = slot.memory.get();
  for (size_t i = 0; i < blocks_.size(); ++i) {
    slot.buffers[i].clear();
    for (const Field& field : source_->fields_of(bucket)) {
      slot.buffers[i].push_back({next, static_cast<size_t>(blocks_[i].size() * field.row_bytes())});
      next += AlignedBytes(field, blocks_[i]);
    }
  }
  for (size_t r = 0; r < block_of_rank_.size(); ++r) {
    const FieldBuffers& buffers = slot.buffers[block_of_rank_[r]];
    slot.batch.parts[r].fields.assign(buffers.begin(), buffers.end());
  }
}

absl::StatusOr<const Batch*> Prefetcher::Next() {
  std::unique_lock lock(mutex_);
  // The batch given out last, if any, is free from here on; until now the ring held it back.
  freed_changed_.notify_one();
  const int64_t wanted = taken_;
  taken_ = wanted + 1;
  const Clock::time_point start = Clock::now();
  made_changed_.wait(lock, [&] { return stopped_ || finished_ || made_ > wanted; });
  waited_seconds_ += SecondsSince(start);
  if (stopped_) return absl::CancelledError("the input was stopped");
  if (made_ > wanted) return &slots_[wanted % slots_.size()].batch;
  taken_ = wanted;
  if (!error_.ok()) return error_;
  return static_cast<const Batch*>(nullptr);
}

double Prefetcher::making_seconds() const {
  const std::lock_guard lock(mutex_);
  return making_seconds_;
}

void Prefetcher::Stop() {
  const std::lock_guard lock(mutex_);
  stopped_ = true;
  made_changed_.notify_all();
  freed_changed_.notify_all();
}

void Prefetcher::Run() {
  const int64_t ring = slots_.size();
  for (int64_t i = 0; i != options_.batch_count; ++i) {
    {
      std::unique_lock lock(mutex_);
      // Slot i % ring held batch i - ring, which is free once batch i - ring + 1 was asked for.
      freed_changed_.wait(lock, [&] { return stopped_ || i < ring || taken_ > i - ring + 1; });
      if (stopped_) return;
    }
    const Clock::time_point start = Clock::now();
    const absl::Status status =
        OrExhausted("prefetch", [&] { return Make(options_.first_batch + i, slots_[i % ring]); });
    const std::lock_guard lock(mutex_);
    making_seconds_ += SecondsSince(start);
    if (status.ok()) {
      ++made_;
    } else {
      error_ = status;
      error_.SetPayload(kDataErrorPayload, {});
      finished_ = true;
    }
    made_changed_.notify_one();
    if (finished_) return;
  }
  const std::lock_guard lock(mutex_);
  finished_ = true;
  made_changed_.notify_one();
}

absl::Status Prefetcher::Make(int64_t number, Slot& slot) const {
  slot.batch.number = number;
  slot.batch.epoch = number / source_->batches_per_epoch();
  Divide(source_->bucket(number), slot);
  for (size_t i = 0; i < blocks_.size(); ++i) RETURN_IF_ERROR(source_->Fill(number, blocks_[i], slot.buffers[i]));
  return absl::OkStatus();
}

}  // namespace partita
