// The ops that are known, one function each (of element-wise ops one for all); the file of a family holds all that is
// to be said about it. The list in use is in registry.cc.
#ifndef PARTITA_OPS_DEFINITIONS_DEFINITIONS_H_
#define PARTITA_OPS_DEFINITIONS_DEFINITIONS_H_

#include <vector>

#include "graph/ir/op_definition.h"

namespace partita {

// sources.cc
OpDefinition InputOp();
OpDefinition ParameterOp();
OpDefinition StateOp();
OpDefinition ConstantOp();
OpDefinition PositionsOp();
// conv2d.cc
OpDefinition Conv2dOp();
OpDefinition Conv2dEpilogueOp();
OpDefinition Conv2dInputGradOp();
OpDefinition Conv2dInputGradSumOp();
OpDefinition Conv2dWeightGradOp();
// matmul.cc
OpDefinition MatMulOp();
OpDefinition MatMulEpilogueOp();
OpDefinition MatMulBiasGradOp();
OpDefinition MatMulReluMaskOp();
OpDefinition MatMulReluGradOp();
// bias.cc
OpDefinition BiasOp();
OpDefinition BiasGradOp();
OpDefinition BiasGradReluOp();
// elementwise.cc
std::vector<OpDefinition> ElementwiseOps();
// pooling.cc
OpDefinition MaxPoolOp();
OpDefinition MaxPoolGradOp();
OpDefinition AveragePoolOp();
OpDefinition AveragePoolGradOp();
OpDefinition GlobalAveragePoolOp();
OpDefinition GlobalAveragePoolGradOp();
// batch_norm.cc
OpDefinition BatchNormOp();
OpDefinition BatchNormStatisticsOp();
OpDefinition BatchNormForwardOp();
OpDefinition BatchNormForwardAddOp();
OpDefinition BatchNormNormalizeOp();
OpDefinition BatchNormNormalizeAddOp();
OpDefinition BatchNormRunningOp();
OpDefinition BatchNormInferenceOp();
// batch_norm_grad.cc
OpDefinition BatchNormGradientSumsOp();
OpDefinition BatchNormGradientSumsReluOp();
OpDefinition BatchNormBackwardOp();
OpDefinition BatchNormBackwardReluOp();
OpDefinition BatchNormNormalizeInputGradOp();
OpDefinition BatchNormStatisticsGradOp();
OpDefinition BatchNormInputGradOp();
// layer_norm.cc
OpDefinition LayerNormOp();
OpDefinition LayerNormInputGradOp();
OpDefinition LayerNormParameterGradOp();
// dropout.cc
OpDefinition DropoutOp();
OpDefinition NoiseOp();
// concat.cc
OpDefinition ConcatOp();
// slice.cc
OpDefinition SliceOp();
OpDefinition SliceGradOp();
// reshape.cc
OpDefinition ReshapeOp();
// sums.cc
OpDefinition SumOp();
OpDefinition MeanOp();
OpDefinition SumGradOp();
OpDefinition ExpandOp();
OpDefinition ExpandLikeOp();
// transpose.cc
OpDefinition TransposeOp();
// cast.cc
OpDefinition CastOp();
OpDefinition PixelsOp();
// softmax.cc
OpDefinition SoftmaxOp();
OpDefinition SoftmaxGradOp();
OpDefinition LogSoftmaxOp();
OpDefinition LogSoftmaxGradOp();
// softmax_cross_entropy.cc
OpDefinition SoftmaxCrossEntropyOp();
OpDefinition SoftmaxCrossEntropyGradOp();
OpDefinition CountLabelsOp();
// mean_squared_error.cc
OpDefinition MeanSquaredErrorOp();
OpDefinition MeanSquaredErrorGradOp();
// split_softmax.cc
OpDefinition RowMaximumOp();
OpDefinition RowExponentialsOp();
OpDefinition RowExponentialsGradOp();
OpDefinition SoftmaxNormalizeOp();
OpDefinition SoftmaxNormalizeGradOp();
OpDefinition LogSoftmaxNormalizeOp();
OpDefinition LogSoftmaxNormalizeGradOp();
OpDefinition CrossEntropyOp();
OpDefinition CrossEntropyLogitsGradOp();
OpDefinition CrossEntropySumGradOp();
// accuracy.cc
OpDefinition AccuracyOp();
// step_scalars.cc
OpDefinition LearningRateOp();
OpDefinition IncrementOp();
OpDefinition AllFiniteOp();
// clip.cc
OpDefinition SumOfSquaresOp();
OpDefinition ClipScaleOp();
// optimizers.cc
std::vector<OpDefinition> UpdateOps();
Optimizers AllOptimizers();  // stochastic gradient descent is the first

}  // namespace partita

#endif  // PARTITA_OPS_DEFINITIONS_DEFINITIONS_H_
