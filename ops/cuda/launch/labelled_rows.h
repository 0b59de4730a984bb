// Rows of logits with their labels, as launches of losses and accuracy see them.
#ifndef PARTITA_OPS_CUDA_LAUNCH_LABELLED_ROWS_H_
#define PARTITA_OPS_CUDA_LAUNCH_LABELLED_ROWS_H_

#include <cstdint>
#include <limits>

#include "ops/cuda/launch/label_fault.h"

namespace partita::launch {

// Of a rank that has a block of the classes: columns first_class .. first_class + classes of all_classes.
struct LabelledRows {
  int64_t rows = 0, classes = 0;
  int64_t weight_rows = 1;  // number of consecutive rows that share a weight
  int64_t all_classes = 0, first_class = 0;
  double divisor = 0;            // of the sum over all ranks' rows
  double smoothing = 0;          // of the labels
  const void* logits = nullptr;  // [rows, classes]
  const int32_t* labels = nullptr;
  int64_t ignored = std::numeric_limits<int64_t>::min();  // rows with this label count nothing; by default none has it
  const void* weights = nullptr;                          // null: every row counts once
  uint64_t* fault = nullptr;                              // receives a LabelFault's word on a fault; may be null
};

}  // namespace partita::launch

#endif  // PARTITA_OPS_CUDA_LAUNCH_LABELLED_ROWS_H_
