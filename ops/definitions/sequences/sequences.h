// The ops that see several places of a sequence [n,t,c] at once, one function each.
#ifndef PARTITA_OPS_DEFINITIONS_SEQUENCES_SEQUENCES_H_
#define PARTITA_OPS_DEFINITIONS_SEQUENCES_SEQUENCES_H_

#include "graph/ir/op_definition.h"

namespace partita {

// attention.cc
OpDefinition AttentionOp();
OpDefinition AttentionContextOp();
OpDefinition AttentionContextGradOp();
// batch_matmul.cc
OpDefinition BatchMatMulOp();
// dot_product_attention.cc
OpDefinition ScaledDotProductAttentionOp();
OpDefinition ScaledDotProductAttentionForwardOp();
OpDefinition ScaledDotProductAttentionGradOp();
OpDefinition ScaledDotProductAttentionBiasGradOp();
// lstm.cc
OpDefinition LstmOp();
OpDefinition LstmStepsOp();
// lstm_grad.cc
OpDefinition LstmStepsGradOp();
OpDefinition LstmProjectedStepsGradOp();

}  // namespace partita

#endif  // PARTITA_OPS_DEFINITIONS_SEQUENCES_SEQUENCES_H_
