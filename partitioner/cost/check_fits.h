// Whether ranks have the memory that they need.
#ifndef PARTITA_PARTITIONER_COST_CHECK_FITS_H_
#define PARTITA_PARTITIONER_COST_CHECK_FITS_H_

#include <span>
#include <vector>

#include "absl/status/status.h"
#include "graph/schedule/schedule.h"
#include "partitioner/cluster/cluster.h"

namespace partita {

// kResourceExhausted: ranks need more memory than their device, or the cores that they share, have; with the ranks.
// `schedules`: by rank; ranks that are alike may share one (FoldedSchedules).
absl::Status CheckFits(std::span<const Schedule* const> schedules, const Cluster& cluster);
absl::Status CheckFits(const std::vector<Schedule>& schedules, const Cluster& cluster);

}  // namespace partita

#endif  // PARTITA_PARTITIONER_COST_CHECK_FITS_H_
