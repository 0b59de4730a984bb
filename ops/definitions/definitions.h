// The ops that are known, one function each (of element-wise ops one for all); the file of a family holds all that is
// to be said about it. The list in use is in registry.cc.
#ifndef PARTITA_OPS_DEFINITIONS_DEFINITIONS_H_
#define PARTITA_OPS_DEFINITIONS_DEFINITIONS_H_

#include <vector>

#include "graph/ir/op_definition.h"

namespace partita {

#define OP(name) OpDefinition name();
#include "ops/definitions/definitions.inc"
#undef OP

// elementwise.cc
std::vector<OpDefinition> ElementwiseOps();
// optimizers.cc
std::vector<OpDefinition> UpdateOps();
Optimizers AllOptimizers();  // stochastic gradient descent is the first

}  // namespace partita

#endif  // PARTITA_OPS_DEFINITIONS_DEFINITIONS_H_
