// Puts the rows of a batch where the ranks' inputs are.
//
// A rank's rows are the block of the inputs' layouts (design.md 5.17); an input that is split in other dimensions as
// well takes its box of them.
#ifndef PARTITA_RUNTIME_TRAIN_BATCH_FEED_H_
#define PARTITA_RUNTIME_TRAIN_BATCH_FEED_H_

#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/api/session.h"
#include "runtime/data/prefetcher.h"
#include "runtime/train/image_inputs.h"

namespace partita {

// Thread-compatible; the session must outlive it.
class BatchFeed {
 public:
  static absl::StatusOr<BatchFeed> Create(const Session& session, Entry entry, const ImageInputs& inputs);

  // Batches [first, first + count) of `source`, made ahead of time, for all ranks of the session.
  absl::StatusOr<std::unique_ptr<Prefetcher>> Prefetch(std::shared_ptr<const BatchSource> source, int64_t first,
                                                       int64_t count) const;

  // Copies a batch of Prefetch into the places; before a step, never while one runs.
  void Stage(const Batch& batch) const;

 private:
  enum class Field { kImages, kLabels, kWeights };
  struct Place {
    int rank = 0;
    Field field = Field::kImages;
    HeldPart part;  // of the rank's rows: `global` is as long as they are
  };

  BatchFeed() = default;

  std::vector<Rows> rows_;  // by rank
  DType dtype_ = DType::kF32;
  std::vector<Place> places_;
};

}  // namespace partita

#endif  // PARTITA_RUNTIME_TRAIN_BATCH_FEED_H_
