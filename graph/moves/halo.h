// The generalized halo of one dimension: blocks of any size, windows of any stride and extent (docs/papers.md 2.2;
// Hewett and Grady, section 4, with distdl's halo_mixin.py).
//
// The input of n elements lies in blocks; the outputs of sliding windows lie in blocks of their own. A block's outputs
// need what their windows span:
//
//        margin        left               own block               right       margin
//   |0 0 ... 0 0|  from the left  |  trimmed | used | trimmed |  from the right  |0 0 ... 0 0|
//
// A negative width says how many own elements at that end are not needed. Halos may reach over several neighbours.
#ifndef PARTITA_GRAPH_MOVES_HALO_H_
#define PARTITA_GRAPH_MOVES_HALO_H_

#include <cstdint>
#include <vector>

#include "graph/value/windows.h"

namespace partita {

struct HaloBlock {
  // Elements of the tensor that are needed before and behind the own ones; negative: own ones that are not needed. A
  // block whose windows see nothing of the tensor needs nothing: -own size and 0.
  int64_t left = 0, right = 0;
  // Zeros beyond the two ends of the tensor; none if the windows are clipped.
  int64_t margin_left = 0, margin_right = 0;

  bool operator==(const HaloBlock&) const = default;
};

// Elements that the owner `from` sends to block `to`.
struct HaloSend {
  int from = 0, to = 0;
  Range elements;

  bool operator==(const HaloSend&) const = default;
};

struct Halo {
  std::vector<HaloBlock> blocks;
  std::vector<HaloSend> sends;  // by receiver, then by sender
};

// `cuts`: of the n input elements; `output_cuts`: of the windows.count outputs; as many blocks. Both rise from 0.
Halo PlanHalo(int64_t n, const std::vector<int64_t>& cuts, const std::vector<int64_t>& output_cuts,
              const Windows& windows);

}  // namespace partita

#endif  // PARTITA_GRAPH_MOVES_HALO_H_
