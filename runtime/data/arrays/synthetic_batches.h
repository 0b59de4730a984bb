// Random batches of any fields, for throughput and tests (--mock-data): nothing can be learnt from them.
//
// Floating values are uniform with mean 0 and variance 1, labels uniform over their classes, other integers 0 or 1, u8
// any byte. Of the labels of a sample that the graph may ignore a quarter is ignored, but never the first. Made when
// they are asked for, from the seed, the field's name and the sample: no set lies in memory. Weights are 1, sequences
// have the maximum length, every batch is full. Thread-safe.
#ifndef PARTITA_RUNTIME_DATA_ARRAYS_SYNTHETIC_BATCHES_H_
#define PARTITA_RUNTIME_DATA_ARRAYS_SYNTHETIC_BATCHES_H_

#include <cstdint>
#include <vector>

#include "runtime/data/batch_source.h"

namespace partita {

struct SyntheticOptions {
  int64_t batch_rows = 0;  // at least 1
  int64_t batches = 0;     // of an epoch, at least 1; each epoch has the same
  uint64_t seed = 0;
  Field weights = {"weights", DType::kF32, {}};  // f32 or f64
};

class SyntheticBatches : public BatchSource {
 public:
  SyntheticBatches(std::vector<WantedField> wanted, SyntheticOptions options);

  const std::vector<Field>& fields() const override { return fields_; }
  int64_t samples() const override { return options_.batches * options_.batch_rows; }
  int64_t batch_rows() const override { return options_.batch_rows; }
  int64_t batches_per_epoch() const override { return options_.batches; }

 private:
  absl::Status FillChecked(int64_t batch, Rows rows, const FieldBuffers& out) const override;

  const std::vector<WantedField> wanted_;
  const SyntheticOptions options_;
  std::vector<Field> fields_;
};

}  // namespace partita

#endif  // PARTITA_RUNTIME_DATA_ARRAYS_SYNTHETIC_BATCHES_H_
