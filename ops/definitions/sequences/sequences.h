// The ops on sequences [n,t,c] that know which place follows which, one function each.
#ifndef PARTITA_OPS_DEFINITIONS_SEQUENCES_SEQUENCES_H_
#define PARTITA_OPS_DEFINITIONS_SEQUENCES_SEQUENCES_H_

#include "graph/ir/op_definition.h"

namespace partita {

// lstm.cc
OpDefinition LstmOp();
OpDefinition LstmStepsOp();
// lstm_grad.cc
OpDefinition LstmStepsGradOp();
OpDefinition LstmProjectedStepsGradOp();

}  // namespace partita

#endif  // PARTITA_OPS_DEFINITIONS_SEQUENCES_SEQUENCES_H_
