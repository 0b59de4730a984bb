// Batches of a text for a language model: row r of batch b + 1 continues where row r of batch b ended.
//
// The n words of a text have n - 1 that follow another. Row r of R has its share of them in their order, and each batch
// the next T of each row:
//
//   training     rows of as many times T words as the text has for each; the rest at its end is skipped.
//                The first batch follows the last one, as a new epoch
//   evaluation   each word once: rows are rounded up, and what fills up batches and rows weighs 0. The others weigh
//                more than 1, so that the mean over batches of the means over places is one over words
//
// Fields: `ids` i32 [T], the words; `targets` i32 [T], those that follow; `weights` [T], what these count; and of each
// row a weight, which is 1. A sample is a row. A batch is a pure function of its number. Thread-safe.
#ifndef PARTITA_RUNTIME_DATA_TEXT_TOKEN_BATCHES_H_
#define PARTITA_RUNTIME_DATA_TEXT_TOKEN_BATCHES_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/data/batch_source.h"
#include "runtime/data/sample_order.h"

namespace partita {

inline constexpr char kIdsField[] = "ids", kTargetsField[] = "targets", kWeightsField[] = "weights";

struct TokenBatchOptions {
  BatchMode mode = BatchMode::kTraining;
  int64_t batch_rows = 0;
  std::vector<WantedField> wanted = {};
  Field row_weights = {"row_weights", DType::kF32, {}};  // f32 or f64
};

class TokenBatches : public BatchSource {
 public:
  // kInvalidArgument: a wanted field that text does not have, or with another type or size; too few words for a
  // training batch; an evaluation whose words do not fill whole batches, if the graph reads no weights.
  static absl::StatusOr<std::shared_ptr<TokenBatches>> Create(std::vector<int32_t> words, TokenBatchOptions options);

  const std::vector<Field>& fields() const override { return fields_; }
  int64_t samples() const override { return batch_rows_ * batches_; }
  int64_t batch_rows() const override { return batch_rows_; }
  int64_t batches_per_epoch() const override { return batches_; }
  std::string word_weights() const override { return kWeightsField; }
  int64_t words() const override { return following_; }
  bool fills_places() const override { return filled_up_; }

 private:
  TokenBatches(std::vector<int32_t> words, const TokenBatchOptions& options, int64_t places);
  absl::Status CheckSizes(const TokenBatchOptions& options) const;
  absl::Status FillChecked(int64_t batch, Rows rows, const FieldBuffers& out) const override;
  // Of words that follow another: the first of a row in a batch, and how many of them there are.
  Rows PlacesOf(int64_t batch, int64_t row) const;

  const std::vector<int32_t> words_;
  const std::vector<Field> fields_;
  const int64_t batch_rows_, places_;
  const int64_t following_;  // words that follow another
  int64_t of_row_ = 0;       // of them, of a row in an epoch
  int64_t batches_ = 0;
  bool filled_up_ = false;  // places behind the last word fill the last batches up
};

// A hash of the words: ranks compare it, so that none trains on others.
uint64_t Digest(const std::vector<int32_t>& words);

}  // namespace partita

#endif  // PARTITA_RUNTIME_DATA_TEXT_TOKEN_BATCHES_H_
