// Batches of a parallel text for a model of translation.
//
// Fields are those of pair_fields.h, and of each row a weight, as runtime/data/sample_order.h has it; bucket_order.h
// says which pairs a batch has. A pair with m and n words is in the smallest bucket that it fits into: m <= S and n + 1
// <= T. A batch is a pure function of its number. Thread-safe.
#ifndef PARTITA_RUNTIME_DATA_PAIRS_PAIR_BATCHES_H_
#define PARTITA_RUNTIME_DATA_PAIRS_PAIR_BATCHES_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/data/batch_source.h"
#include "runtime/data/pairs/bucket_order.h"
#include "runtime/data/pairs/pair_fields.h"
#include "runtime/data/pairs/pair_set.h"
#include "runtime/data/text/token_batches.h"

namespace partita {

// What becomes of pairs that are longer than the largest bucket.
enum class LongPairs { kRefuse, kLeaveOut, kCut };

struct PairBatchOptions {
  BatchMode mode = BatchMode::kTraining;
  int64_t batch_rows = 0;
  uint64_t seed = 0;
  std::vector<WantedField> wanted = {};  // their size is one bucket
  std::vector<PairSize> further = {};    // further buckets, in any order; of any two one holds the other
  LongPairs long_pairs = LongPairs::kRefuse;
  Field row_weights = {"row_weights", DType::kF32, {}};  // f32 or f64
};

class PairBatches : public BatchSource {
 public:
  // kInvalidArgument: what PairSizeOf and SampleOrder::Check refuse; two buckets that do not nest, or more than 256; a
  // pair that is too long, with its file and line.
  static absl::StatusOr<std::shared_ptr<PairBatches>> Create(PairSet pairs, const PairBatchOptions& options);

  const std::vector<Field>& fields() const override { return fields_.back(); }
  int64_t samples() const override { return order_.samples(); }
  int64_t batch_rows() const override { return batch_rows_; }
  int64_t batches_per_epoch() const override { return order_.batches_per_epoch(); }
  std::string word_weights() const override { return kWeightsField; }
  bool is_empty(int64_t sample) const override { return WordsOf(used_[sample]).source.empty(); }
  int64_t buckets() const override { return static_cast<int64_t>(fields_.size()); }
  int64_t bucket(int64_t batch) const override { return order_.bucket(batch); }
  const std::vector<Field>& fields_of(int64_t bucket) const override { return fields_[bucket]; }
  int64_t words() const override { return targets_; }  // of targets, with the end of each

  int64_t left_out() const { return pairs_.count() - static_cast<int64_t>(used_.size()); }
  int64_t cut() const { return cut_; }  // how many pairs are

 private:
  // The pairs that fit into a bucket, and into which.
  struct Fitting {
    std::vector<uint32_t> pairs;
    std::vector<uint8_t> buckets;
    int64_t cut = 0;
  };

  static absl::StatusOr<Fitting> Fit(const PairSet& pairs, const std::vector<PairSize>& sizes, LongPairs policy);
  PairBatches(PairSet pairs, const PairBatchOptions& options, const std::vector<PairSize>& sizes, Fitting fitting);

  absl::Status FillChecked(int64_t batch, Rows rows, const FieldBuffers& out) const override;
  PairWords WordsOf(uint32_t pair) const;  // up to where it is cut
  int64_t TargetsOf(int64_t sample) const { return static_cast<int64_t>(WordsOf(used_[sample]).target.size()) + 1; }

  const PairSet pairs_;
  const PairSize largest_;
  const int64_t cut_;
  const std::vector<uint32_t> used_;  // the pair of each sample
  const std::vector<std::vector<Field>> fields_;
  const int64_t batch_rows_;
  const SampleOrder weights_;  // of rows
  const BucketOrder order_;
  int64_t targets_ = 0;  // of all samples
};

}  // namespace partita

#endif  // PARTITA_RUNTIME_DATA_PAIRS_PAIR_BATCHES_H_
