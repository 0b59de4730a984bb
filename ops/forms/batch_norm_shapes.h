// Groups and statistics of batch normalization, shared by its ops.
//
// The samples of x [n,c] or [n,h,w,c] fall into G groups of `samples` consecutive ones (0: one group, the whole batch).
// Statistics are [G,2,C]. A split of the samples must not cut through a group; inside the only group it gives partial
// sums. They are f64 for every type of x: a variance is the difference of two of them, and if the mean is large
// compared with the deviation (10^4 to 1), f32 has no correct digit of it. In f64 one sum over the ranks suffices, as
// far as the elements of x differ at all.
#ifndef PARTITA_OPS_FORMS_BATCH_NORM_SHAPES_H_
#define PARTITA_OPS_FORMS_BATCH_NORM_SHAPES_H_

#include "graph/ir/op_definition.h"

namespace partita {

// How a batch is grouped.
struct BatchGroups {
  int64_t groups = 1;    // G
  int64_t samples = 0;   // per group
  int64_t elements = 0;  // per group and channel: samples * h * w
};

// From attribute `attribute` (samples per group) and the shape of x, which has passed CheckBatchNormX.
absl::StatusOr<BatchGroups> GroupsOf(const Attributes& attributes, const char* attribute, const Shape& x);

// The same for a node whose shape has been inferred.
BatchGroups InferredGroups(const NodeView& node);

absl::Status CheckBatchNormX(const NodeView& node);

inline constexpr DType kStatisticsType = DType::kF64;

// Input `index` has the type and the shape of statistics of x, in groups of attribute `samples`.
absl::Status CheckStatistics(const NodeView& node, int index, const std::string& name);

// Inputs `first` and following: names of [C] vectors, f32 for a bf16 x, else of x's type.
absl::Status CheckChannelVectors(const NodeView& node, int first, const std::vector<std::string>& names);

// The same of vectors with an element for each of `channels`, of type `dtype`.
absl::Status CheckVectors(const NodeView& node, int first, const std::vector<std::string>& names, int64_t channels,
                          DType dtype);

// The shape of statistics of x.
Shape StatisticsShape(const BatchGroups& groups, const Shape& x);

// What an input or output of a batch-norm op is, which says how it is split.
enum class BatchNormPart { kElements, kStatistics, kVector };

// The rules of an op whose inputs and outputs are such parts. Where an output is not per element and the samples (of a
// single group) or rows are split, it is a partial sum.
std::vector<Rule> BatchNormRules(const NodeView& node, const std::vector<BatchNormPart>& inputs,
                                 const std::vector<BatchNormPart>& outputs);

// BatchNormRules for an op that needs whole groups: no split divides a group.
std::vector<Rule> WholeGroupRules(const NodeView& node, const std::vector<BatchNormPart>& inputs,
                                  const std::vector<BatchNormPart>& outputs);

}  // namespace partita

#endif  // PARTITA_OPS_FORMS_BATCH_NORM_SHAPES_H_
