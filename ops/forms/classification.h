// The inputs that the loss and the metrics of a classifier share.
#ifndef PARTITA_OPS_FORMS_CLASSIFICATION_H_
#define PARTITA_OPS_FORMS_CLASSIFICATION_H_

#include <string>
#include <vector>

#include "graph/ir/op_definition.h"
#include "ops/forms/rows.h"

namespace partita {

// attribute batch: the samples of the mean; 0: n; reduction: mean or sum; ignore_index: optional. logits [n,c], or
// [n,t,c] of t places in each sample, floating; labels i32 [n] or [n,t], 0 <= label < c or ignore_index; sample_weight
// [n] or [n,t] of the logits' type, optional. A mean is one over all places.
absl::Status CheckClassifier(const NodeView& node);
// The same, and attribute label_smoothing: 0 to 1.
absl::Status CheckLoss(const NodeView& node);
// Input `index`, optional: of rows [n] or [n,t] the weight of each sample or of each row; of the type of input 0.
absl::Status CheckSampleWeight(const NodeView& node, int index, const Shape& rows);
// How it is split where there are `dimensions` of rows.
RowPart PartOfWeight(const NodeView& node, int index, size_t dimensions);
// Of the gradient of a loss by its logits: (logits, labels, sample_weight?, dloss) -> as logits.
absl::StatusOr<std::vector<TensorType>> LogitsGradShape(const NodeView& node);

// What the rows of `values` [n,...] count in evaluation: the weights of their samples, times `own` where the node
// `name` has weights of its own. `own` alone if neither the rows of `values` nor those of `labels` belong to single
// samples.
absl::StatusOr<ValueId> EvaluationWeight(EntryBuilder& builder, ValueId values, ValueId labels, ValueId own,
                                         const std::string& name);
// A loss or metric of (logits, labels, sample_weight?) as training computes it. With ignore_index the divisor of a mean
// depends on the labels of the whole batch, so it is a value of the graph:
//
//   before   %l = softmax_cross_entropy(%x, %t) ignore_index=-100
//   after    %l = softmax_cross_entropy(%x, %t) ignore_index=-100 reduction=sum
//            %l@count = count_labels(%t) ignore_index=-100   %l@mean = over(%l, %l@count)
absl::StatusOr<std::vector<ValueId>> WithCountedLabels(EntryBuilder& builder, const Node& node,
                                                       const std::string& name);
// The same in evaluation, where every sample has a weight in both.
absl::StatusOr<std::vector<ValueId>> WithSampleWeight(EntryBuilder& builder, const Node& node, const std::string& name);

// What a strategy calls the split of a softmax's classes. The rules of a whole softmax do not have it, those of its
// pieces do (ops/definitions/split_softmax.cc).
inline constexpr char kClassSplit[] = "classes";

// The pieces of a softmax over split classes; `op` takes its place.
Decomposition SoftmaxPieces(const std::string& op);

// Of a scalar of (logits, labels, sample_weight?), a sum over own rows / all of the global batch: of some it is a part.
std::vector<Rule> RowsToScalar(const NodeView& node);

}  // namespace partita

#endif  // PARTITA_OPS_FORMS_CLASSIFICATION_H_
