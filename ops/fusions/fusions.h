// The fusions in use, in their order.
#ifndef PARTITA_OPS_FUSIONS_FUSIONS_H_
#define PARTITA_OPS_FUSIONS_FUSIONS_H_

#include <vector>

#include "graph/ir/op_definition.h"

namespace partita {

std::vector<Fusion> AllFusions();

}  // namespace partita

#endif  // PARTITA_OPS_FUSIONS_FUSIONS_H_
