// The ops that see several places of a sequence [n,t,c] at once, one function each.
#ifndef PARTITA_OPS_DEFINITIONS_SEQUENCES_SEQUENCES_H_
#define PARTITA_OPS_DEFINITIONS_SEQUENCES_SEQUENCES_H_

#include "graph/ir/op_definition.h"

namespace partita {

#define OP(name) OpDefinition name();
#include "ops/definitions/sequences/sequences.inc"
#undef OP

}  // namespace partita

#endif  // PARTITA_OPS_DEFINITIONS_SEQUENCES_SEQUENCES_H_
