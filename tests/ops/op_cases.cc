#include "tests/ops/op_cases.h"

#include <algorithm>

#include "ops/registry.h"
#include "tests/ops/case_list.h"

namespace partita {

std::vector<OpCase> GradientCases() {
  Cases cases;
  AddLinear(cases);
  AddPooling(cases);
  AddBatchNorm(cases);
  AddLayerNorm(cases);
  AddLstm(cases);
  AddAttention(cases);
  AddDotProductAttention(cases);
  AddElementwise(cases);
  AddRearranging(cases);
  AddClassification(cases);
  AddSplitSoftmax(cases);
  AddSums(cases);
  AddErrors(cases);
  AddRows(cases);
  AddSampledSoftmax(cases);
  return cases.Take();
}

std::vector<OpCase> KernelCases() {
  Cases cases;
  AddLinearGradients(cases);
  AddPoolingGradients(cases);
  AddRearrangingGradients(cases);
  AddEpilogues(cases);
  AddElementwiseGradients(cases);
  AddClassificationGradients(cases);
  AddSplitSoftmaxOthers(cases);
  AddSumsOthers(cases);
  AddBatchNormOthers(cases);
  AddLayerNormGradients(cases);
  AddRowsGradients(cases);
  AddLstmGradients(cases);
  AddAttentionGradients(cases);
  AddDotProductAttentionGradients(cases);
  AddUpdates(cases);
  std::vector<OpCase> all = GradientCases();
  for (OpCase& op_case : cases.Take()) all.push_back(std::move(op_case));
  return all;
}

std::vector<OpCase> UserCases() {
  Cases composites;
  AddComposites(composites);
  std::vector<OpCase> all = composites.Take();
  for (OpCase& op_case : KernelCases()) {
    if (Ops().Find(op_case.op)->user) all.push_back(std::move(op_case));
  }
  return all;
}

OpCase InF32(OpCase op_case) {
  const std::vector<InputDefinition>& inputs = Ops().Find(op_case.op)->inputs;
  for (size_t i = 0; i < op_case.inputs.size(); ++i) {
    std::optional<CaseInput>& input = op_case.inputs[i];
    const std::string& name = inputs[std::min(i, inputs.size() - 1)].name;
    if (name == "stats" || name == "dstats") continue;  // f64 in every precision
    if (input && input->type.dtype == DType::kF64) input->type.dtype = DType::kF32;
  }
  if (op_case.attributes.Has("dtype")) op_case.attributes.Set("dtype", "f32");
  return op_case;
}

NodeView ViewOf(const OpCase& op_case) {
  NodeView view{op_case.attributes, {}, {}};
  for (const std::optional<CaseInput>& input : op_case.inputs) view.inputs.push_back(input ? &input->type : nullptr);
  absl::StatusOr<std::vector<TensorType>> outputs = Ops().Find(op_case.op)->shape(view);
  if (!outputs.ok()) std::fprintf(stderr, "%s: %s\n", op_case.name.c_str(), outputs.status().ToString().c_str());
  CHECK(outputs.ok());
  view.outputs = *std::move(outputs);
  return view;
}

}  // namespace partita
