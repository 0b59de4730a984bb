// The inputs that the loss and the metrics of a classifier share.
#ifndef PARTITA_OPS_CLASSIFICATION_H_
#define PARTITA_OPS_CLASSIFICATION_H_

#include "graph/op_definition.h"

namespace partita {

// attribute batch: the samples of the mean; 0: n. logits [n,c] floating; labels i32 [n], 0 <= label < c; sample_weight
// [n] of the logits' type, optional.
absl::Status CheckClassifier(const NodeView& node);
// The same, and attribute label_smoothing: 0 to 1.
absl::Status CheckLoss(const NodeView& node);

// loss = sum over own samples / n of the global batch: samples split gives a partial sum.
Rule SamplesToScalar();

}  // namespace partita

#endif  // PARTITA_OPS_CLASSIFICATION_H_
