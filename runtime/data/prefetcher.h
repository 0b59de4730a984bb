// Makes the next batches on a thread of its own while the step runs.
//
// All rows of all ranks of this process come from one Prefetcher. Its buffers are allocated once, at the start, with
// room for the largest bucket: one batch that the caller holds and `depth` that are ready or being made. Waiting
// threads block on condition variables.
//
// Next() and the batch that it returned belong to one thread; Stop() may come from any other. Destruction stops the
// thread at any moment, after the batch that it is making.
#ifndef PARTITA_RUNTIME_DATA_PREFETCHER_H_
#define PARTITA_RUNTIME_DATA_PREFETCHER_H_

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/data/batch_source.h"

namespace partita {

// The rows of one rank, contiguous.
struct BatchPart {
  Rows rows;
  std::vector<std::span<const std::byte>> fields;  // in the order of the source's
};

struct Batch {
  int64_t number = 0;  // as BatchSource::Fill counts
  int64_t epoch = 0;
  int64_t bucket = 0;
  std::vector<BatchPart> parts;  // as PrefetchOptions::ranks
};

// Whether it is an error of the data, met when a batch was to be made: nothing is wrong with what was done before.
bool IsDataError(const absl::Status& status);

struct PrefetchOptions {
  std::vector<Rows> ranks;   // what each rank of this process needs; equal rows are made once and shared
  int64_t first_batch = 0;   // where a run that goes on begins
  int64_t batch_count = -1;  // how many are made; -1: without end
  int64_t depth = 2;         // batches ahead of the caller, at least 1
};

class Prefetcher {
 public:
  // kInvalidArgument: rows outside the global batch, a depth below 1. kResourceExhausted: no thread, or no memory for
  // the buffers.
  static absl::StatusOr<std::unique_ptr<Prefetcher>> Start(std::shared_ptr<const BatchSource> source,
                                                           PrefetchOptions options);
  Prefetcher(const Prefetcher&) = delete;
  Prefetcher& operator=(const Prefetcher&) = delete;
  ~Prefetcher();

  // Batches that lie in its memory.
  static int64_t Slots(const PrefetchOptions& options) { return options.depth + 1; }

  // Waits for the next batch, in order. It is valid until the next call of Next() or the end of the Prefetcher. Null
  // after the last one. An error of the source (IsDataError) comes after all batches before it, and again with every
  // further call; kCancelled after Stop().
  absl::StatusOr<const Batch*> Next();

  // That Next() has waited in all. Of the thread that calls it.
  double waited_seconds() const { return waited_seconds_; }
  // That its thread has taken to make batches. Of any thread.
  double making_seconds() const;

  // Ends a waiting Next() and all further ones with kCancelled.
  void Stop();

 private:
  // One batch and the memory behind its parts.
  struct Slot {
    Batch batch;
    std::vector<FieldBuffers> buffers;  // of each distinct block of rows
    std::unique_ptr<std::byte[]> memory;
  };

  Prefetcher(std::shared_ptr<const BatchSource> source, PrefetchOptions options);

  absl::Status Allocate();
  int64_t SlotBytes() const;
  Slot MakeSlot() const;
  void Divide(int64_t bucket, Slot& slot) const;
  void Run();
  absl::Status Make(int64_t number, Slot& slot) const;

  const std::shared_ptr<const BatchSource> source_;
  const PrefetchOptions options_;
  std::vector<Rows> blocks_;  // the distinct rows of options_.ranks
  std::vector<size_t> block_of_rank_;
  std::vector<Slot> slots_;  // a ring: batch i lies in slot i % size

  mutable std::mutex mutex_;
  std::condition_variable made_changed_;
  std::condition_variable freed_changed_;
  int64_t made_ = 0;   // batches ready since the start
  int64_t taken_ = 0;  // batches given out; the last of them is still in use
  double waited_seconds_ = 0;
  double making_seconds_ = 0;
  bool finished_ = false;
  bool stopped_ = false;
  absl::Status error_;
  std::thread thread_;
};

}  // namespace partita

#endif  // PARTITA_RUNTIME_DATA_PREFETCHER_H_
