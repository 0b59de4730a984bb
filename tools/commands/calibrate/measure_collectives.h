// Measures collectives among ranks on this machine, by size.
#ifndef PARTITA_TOOLS_COMMANDS_CALIBRATE_MEASURE_COLLECTIVES_H_
#define PARTITA_TOOLS_COMMANDS_CALIBRATE_MEASURE_COLLECTIVES_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "partitioner/cost/collective_cost.h"
#include "partitioner/profile/profile.h"

namespace partita {

// Measures every kind among this number of ranks. They are threads that wait for each other as in a session with
// `threads` threads in all, or they communicate as processes of one host do (through shared memory).
absl::StatusOr<std::vector<CollectiveTime>> MeasureCollectives(int ranks, bool processes, int64_t threads);

// What an all_reduce of two such threads costs.
absl::StatusOr<AlphaBeta> MeasurePair(int64_t threads);

// Bytes a second that this machine's cores copy together, read and written.
double MeasureCopies();

}  // namespace partita

#endif  // PARTITA_TOOLS_COMMANDS_CALIBRATE_MEASURE_COLLECTIVES_H_
