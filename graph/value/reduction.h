// The reductions that combine the ranks' values: the meaning of a Partial layout and the parameter of reducing
// collectives.
#ifndef PARTITA_GRAPH_VALUE_REDUCTION_H_
#define PARTITA_GRAPH_VALUE_REDUCTION_H_

#include <cstdint>

namespace partita {

enum class Reduction : uint8_t { kSum, kMax };

// "sum", "max": the names of the text form and of messages.
constexpr const char* Name(Reduction reduction) { return reduction == Reduction::kSum ? "sum" : "max"; }

}  // namespace partita

#endif  // PARTITA_GRAPH_VALUE_REDUCTION_H_
