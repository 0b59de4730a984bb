#include "ops/registry.h"

#include "graph/moves/move_ops.h"
#include "ops/definitions/definitions.h"
#include "ops/definitions/rows/row_definitions.h"
#include "ops/definitions/sequences/sequences.h"
#include "ops/fusions/fusions.h"

namespace partita {
namespace {

std::vector<OpDefinition> AllDefinitions() {
  std::vector<OpDefinition> definitions = {
      InputOp(),
      ParameterOp(),
      StateOp(),
      ConstantOp(),
      Conv2dOp(),
      Conv2dEpilogueOp(),
      Conv2dInputGradOp(),
      Conv2dInputGradSumOp(),
      Conv2dWeightGradOp(),
      MatMulOp(),
      MatMulEpilogueOp(),
      MatMulBiasGradOp(),
      MatMulReluMaskOp(),
      MatMulReluGradOp(),
      BiasOp(),
      BiasGradOp(),
      BiasGradReluOp(),
      MaxPoolOp(),
      MaxPoolGradOp(),
      AveragePoolOp(),
      AveragePoolGradOp(),
      GlobalAveragePoolOp(),
      GlobalAveragePoolGradOp(),
      BatchNormOp(),
      BatchNormStatisticsOp(),
      BatchNormForwardOp(),
      BatchNormForwardAddOp(),
      BatchNormNormalizeOp(),
      BatchNormNormalizeAddOp(),
      BatchNormRunningOp(),
      BatchNormInferenceOp(),
      BatchNormGradientSumsOp(),
      BatchNormGradientSumsReluOp(),
      BatchNormBackwardOp(),
      BatchNormBackwardReluOp(),
      BatchNormNormalizeInputGradOp(),
      BatchNormStatisticsGradOp(),
      BatchNormInputGradOp(),
      LayerNormOp(),
      LayerNormInputGradOp(),
      LayerNormParameterGradOp(),
      BatchMatMulOp(),
      LstmOp(),
      LstmStepsOp(),
      LstmStepsGradOp(),
      LstmProjectedStepsGradOp(),
      AttentionOp(),
      AttentionContextOp(),
      AttentionContextGradOp(),
      ScaledDotProductAttentionOp(),
      ScaledDotProductAttentionForwardOp(),
      ScaledDotProductAttentionGradOp(),
      ScaledDotProductAttentionBiasGradOp(),
      DropoutOp(),
      NoiseOp(),
      PositionsOp(),
      PixelsOp(),
      ConcatOp(),
      SliceOp(),
      SliceGradOp(),
      ReshapeOp(),
      SumOp(),
      MeanOp(),
      SumGradOp(),
      ExpandOp(),
      ExpandLikeOp(),
      TransposeOp(),
      CastOp(),
      SoftmaxOp(),
      SoftmaxGradOp(),
      LogSoftmaxOp(),
      LogSoftmaxGradOp(),
      SoftmaxCrossEntropyOp(),
      SoftmaxCrossEntropyGradOp(),
      CountLabelsOp(),
      MeanSquaredErrorOp(),
      MeanSquaredErrorGradOp(),
      RowMaximumOp(),
      RowExponentialsOp(),
      RowExponentialsGradOp(),
      SoftmaxNormalizeOp(),
      SoftmaxNormalizeGradOp(),
      LogSoftmaxNormalizeOp(),
      LogSoftmaxNormalizeGradOp(),
      CrossEntropyOp(),
      CrossEntropyLogitsGradOp(),
      CrossEntropySumGradOp(),
      AccuracyOp(),
      EmbeddingOp(),
      EmbeddingGradOp(),
      MergeRowsOp(),
      SampledSoftmaxCrossEntropyOp(),
      LogUniformIdsOp(),
      SampledCrossEntropyOp(),
      SampledCrossEntropyGradOp(),
      LearningRateOp(),
      IncrementOp(),
      AllFiniteOp(),
      SumOfSquaresOp(),
      ClipScaleOp(),
  };
  for (const auto& family : {ElementwiseOps(), UpdateOps(), RowUpdateOps(), MoveDefinitions()}) {
    definitions.insert(definitions.end(), family.begin(), family.end());
  }
  return definitions;
}

}  // namespace

const OpRegistry& Ops() {
  static const auto& registry = *new OpRegistry(AllDefinitions(), AllFusions(), AllOptimizers());
  return registry;
}

}  // namespace partita
