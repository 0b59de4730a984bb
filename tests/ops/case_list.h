// How the table of ops is written down (op_cases.h): a function for each family, which adds its cases to the list.
#ifndef PARTITA_TESTS_OPS_CASE_LIST_H_
#define PARTITA_TESTS_OPS_CASE_LIST_H_

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tests/ops/op_cases.h"

namespace partita {

using Ints = IntList;

// An input by which a gradient is taken.
CaseInput Free(Shape shape);
// The same, away from kinks.
CaseInput Spread(Shape shape);
// An input without a gradient.
CaseInput Fixed(Shape shape, double low = -1, double high = 1);
// Sums over this number of elements.
CaseInput Statistics(Shape shape, double elements);
CaseInput Integers(Shape shape, int64_t below);
// What gates an update: the step is applied.
CaseInput Applied();

class Cases {
 public:
  // `attributes` are completed; CHECKed.
  void Add(const std::string& op, const std::string& variant, const Attributes& attributes,
           std::vector<std::optional<CaseInput>> inputs, std::vector<size_t> kept = {});
  std::vector<OpCase> Take() { return std::move(cases_); }

 private:
  std::vector<OpCase> cases_;
};

// Ops with a gradient.
void AddLinear(Cases& cases);
void AddPooling(Cases& cases);
void AddBatchNorm(Cases& cases);
void AddLayerNorm(Cases& cases);
void AddLstm(Cases& cases);
void AddAttention(Cases& cases);
void AddDotProductAttention(Cases& cases);
void AddElementwise(Cases& cases);
void AddRearranging(Cases& cases);
void AddClassification(Cases& cases);
void AddSplitSoftmax(Cases& cases);
void AddSums(Cases& cases);
void AddErrors(Cases& cases);
void AddRows(Cases& cases);
void AddSampledSoftmax(Cases& cases);

// Ops without one.
void AddLinearGradients(Cases& cases);
void AddPoolingGradients(Cases& cases);
void AddRearrangingGradients(Cases& cases);
void AddEpilogues(Cases& cases);
void AddElementwiseGradients(Cases& cases);
void AddClassificationGradients(Cases& cases);
void AddSplitSoftmaxOthers(Cases& cases);
void AddSumsOthers(Cases& cases);
void AddBatchNormOthers(Cases& cases);
void AddLayerNormGradients(Cases& cases);
void AddRowsGradients(Cases& cases);
void AddLstmGradients(Cases& cases);
void AddAttentionGradients(Cases& cases);
void AddDotProductAttentionGradients(Cases& cases);
void AddUpdates(Cases& cases);

// Ops that entry points take apart.
void AddComposites(Cases& cases);

}  // namespace partita

#endif  // PARTITA_TESTS_OPS_CASE_LIST_H_
