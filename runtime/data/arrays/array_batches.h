// Batches of named arrays, in the order of runtime/data/sample_order.h; rows that fill up the last batch of an
// evaluation are the first row of the set, or zeros in fields that weigh or divide. Behind the arrays' fields comes the
// weight of each row. A batch by whose sum the graph would divide, and which adds up to 0, as one of padding alone
// does, is an error for all ranks, and so is one whose labels the graph ignores: of an evaluation when it is created,
// of training when its batches are checked or the batch is made. Thread-safe.
#ifndef PARTITA_RUNTIME_DATA_ARRAYS_ARRAY_BATCHES_H_
#define PARTITA_RUNTIME_DATA_ARRAYS_ARRAY_BATCHES_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/data/arrays/array_field.h"
#include "runtime/data/batch_source.h"
#include "runtime/data/sample_order.h"

namespace partita {

struct ArrayBatchOptions {
  BatchMode mode = BatchMode::kTraining;
  int64_t batch_rows = 0;
  uint64_t seed = 0;
  Field weights = {"weights", DType::kF32, {}};  // f32 or f64
};

class ArrayBatches : public BatchSource {
 public:
  // Of fields with as many rows each. kInvalidArgument: as SampleOrder::Check; an array of an evaluation adds up to 0
  // by whose sum the graph divides.
  static absl::StatusOr<std::shared_ptr<ArrayBatches>> Create(std::vector<ArrayField> arrays,
                                                              ArrayBatchOptions options);

  const std::vector<Field>& fields() const override { return fields_; }
  int64_t samples() const override { return order_.samples(); }
  int64_t batch_rows() const override { return order_.batch_rows(); }
  int64_t batches_per_epoch() const override { return order_.batches_per_epoch(); }
  absl::Status CheckBatches(int64_t first, int64_t end) const override;

 private:
  ArrayBatches(std::vector<ArrayField> arrays, const ArrayBatchOptions& options);
  absl::Status FillChecked(int64_t batch, Rows rows, const FieldBuffers& out) const override;
  // Of an evaluation: the whole set divides by the sum of all rows, and a batch may be of padding alone.
  absl::Status CheckSet() const;
  absl::Status CheckDivisors(int64_t batch) const;

  // An array by whose sum, or number of labels, in a batch the graph divides.
  struct Divisor {
    size_t field;
    std::vector<double> sums;  // of each row
    bool may_vanish = false;   // in a batch of this number of rows
  };
  static std::vector<Divisor> DivisorsOf(const std::vector<ArrayField>& arrays, const SampleOrder& order);

  const std::vector<ArrayField> arrays_;
  const std::vector<Field> fields_;
  const SampleOrder order_;
  const BatchMode mode_;
  const std::vector<Divisor> divisors_;
};

// A hash of all that the arrays hold: ranks compare it, so that none trains on other data.
uint64_t Digest(const std::vector<ArrayField>& arrays);

}  // namespace partita

#endif  // PARTITA_RUNTIME_DATA_ARRAYS_ARRAY_BATCHES_H_
