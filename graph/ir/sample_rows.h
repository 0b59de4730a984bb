// Where a value has the samples of a batch.
#ifndef PARTITA_GRAPH_IR_SAMPLE_ROWS_H_
#define PARTITA_GRAPH_IR_SAMPLE_ROWS_H_

#include <cstdint>

namespace partita {

// A dimension of size repeats x samples x rows, row-major: each sample has `rows` elements that follow each other, and
// all samples follow each other `repeats` times.
struct SampleRows {
  int dimension = 0;
  int64_t repeats = 1, rows = 1;

  bool operator==(const SampleRows&) const = default;
};

}  // namespace partita

#endif  // PARTITA_GRAPH_IR_SAMPLE_ROWS_H_
