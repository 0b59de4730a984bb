// The ops in use: those of this folder and the moves.
#ifndef PARTITA_OPS_REGISTRY_H_
#define PARTITA_OPS_REGISTRY_H_

#include "graph/ir/op_definition.h"

namespace partita {

// Built at the first call and never destroyed. Thread-safe.
const OpRegistry& Ops();

}  // namespace partita

#endif  // PARTITA_OPS_REGISTRY_H_
