// Puts the rows of a batch where the ranks' inputs are: each input takes the field of its name.
//
// A rank's rows are the block of the inputs' layouts (docs/design.md 5.17); an input that is split in other dimensions
// as well takes its box of them.
#ifndef PARTITA_RUNTIME_TRAIN_BATCH_FEED_H_
#define PARTITA_RUNTIME_TRAIN_BATCH_FEED_H_

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/api/session.h"
#include "runtime/data/prefetcher.h"

namespace partita {

// Thread-compatible; the session must outlive it.
class BatchFeed {
 public:
  // `use`: kTrainEntry, kEvaluateEntry or kPredictEntry. The batches of each bucket of the source go to the entry point
  // of that use (graph/ir/entry_point.h) whose inputs have its sizes. kInvalidArgument: no such entry point; an input
  // that no field of the source fills, or one of another type or size; both are named (CheckFeed).
  static absl::StatusOr<BatchFeed> Create(const Session& session, const std::string& use,
                                          std::shared_ptr<const BatchSource> source);

  // Where batch `number` of the source goes to.
  const std::string& EntryOf(int64_t number) const { return buckets_[source_->bucket(number)].entry; }

  // Batches [first, first + count) of the source, made ahead of time, for all ranks of the session.
  absl::StatusOr<std::unique_ptr<Prefetcher>> Prefetch(int64_t first, int64_t count) const;

  // Copies a batch of Prefetch into the places of its entry point; before a step, never while one runs.
  void Stage(const Batch& batch) const;

 private:
  struct Place {
    int rank = 0;
    size_t field = 0;  // of the source's
    HeldTensor part;   // of the rank's rows: `global` has their number of rows
  };

  struct Bucket {
    std::string entry;
    std::vector<Place> places;
  };

  BatchFeed() = default;
  static absl::StatusOr<Bucket> PlacesOf(const Session& session, const EntryPoint& entry,
                                         const std::vector<Field>& fields, int64_t batch_rows);

  std::shared_ptr<const BatchSource> source_;
  std::vector<Rows> rows_;  // by rank, of all buckets
  std::vector<Bucket> buckets_;
};

// kInvalidArgument: a source of these fields, in batches of this number of rows, does not fill an input of the entry
// point; the error names the input. BatchFeed::Create refuses the same.
absl::Status CheckFeed(const EntryPoint& entry, const std::vector<Field>& fields, int64_t batch_rows);

// Bytes of the batches that Prefetch makes ahead for these ranks of a process. `entry`: of several sizes, the largest.
int64_t PrefetchedBytes(const EntryPoint& entry, std::span<const int> ranks);

// The fields of one batch, whole, in the order of the source's.
absl::StatusOr<std::vector<HostTensor>> WholeBatch(const BatchSource& source, int64_t number);

}  // namespace partita

#endif  // PARTITA_RUNTIME_TRAIN_BATCH_FEED_H_
