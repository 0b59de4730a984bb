// Whether nodes compute in parts while ghosts travel.
#ifndef PARTITA_GRAPH_SCHEDULE_OVERLAP_HALO_H_
#define PARTITA_GRAPH_SCHEDULE_OVERLAP_HALO_H_

#include <cstdint>

namespace partita {

// kAuto: only nodes that become faster. At least half of the outputs are interior; the interior is enough work to hide
// the beginning of an exchange (MachineSpeed::hiding_flops); and it has 128 pixels or more for each part, because each
// part reads (and a library may reorder) all of the weights. Only sizes and the machine's speed decide, so ranks that
// compute the same outputs decide alike; on an unknown machine no node is chosen.
enum class OverlapHalo : uint8_t { kAuto, kOff, kOn };

}  // namespace partita

#endif  // PARTITA_GRAPH_SCHEDULE_OVERLAP_HALO_H_
