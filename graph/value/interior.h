// Finds the outputs of sliding windows that need only a part of the input: the interior, computed while ghosts travel.
//
//   input     | . . . own block . . . | ghosts
//   windows   [===][===]...[===]              the interior
//                       [===][===]            the boundary
//
// (docs/papers.md 1.3; Gholami et al. 2018, section 2.4.)
#ifndef PARTITA_GRAPH_VALUE_INTERIOR_H_
#define PARTITA_GRAPH_VALUE_INTERIOR_H_

#include <cstdint>

#include "graph/value/shape.h"
#include "graph/value/windows.h"

namespace partita {

// Those of `outputs` whose windows see no element of a tensor of n elements outside of `held`. They are a run; empty
// (at the first output) if there are none. Elements beyond the tensor do not count as seen.
Range InteriorOf(const Windows& windows, const Range& outputs, const Range& held, int64_t n);

}  // namespace partita

#endif  // PARTITA_GRAPH_VALUE_INTERIOR_H_
