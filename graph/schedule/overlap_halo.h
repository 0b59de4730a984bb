// Whether nodes compute in parts while ghosts travel.
#ifndef PARTITA_GRAPH_SCHEDULE_OVERLAP_HALO_H_
#define PARTITA_GRAPH_SCHEDULE_OVERLAP_HALO_H_

#include <cstdint>

namespace partita {

// kAuto: nodes of which it pays. At least half of the outputs are interior; the interior is as much work as
// hides the beginning of an exchange (MachineSpeed::hiding_flops); and it has 128 pixels or more for each part, because
// each part reads (and a library may reorder) all of the weights. Sizes and the machine's speed alone decide, so ranks
// that compute the same outputs do alike; of a machine that is not known nothing pays.
enum class OverlapHalo : uint8_t { kAuto, kOff, kOn };

}  // namespace partita

#endif  // PARTITA_GRAPH_SCHEDULE_OVERLAP_HALO_H_
