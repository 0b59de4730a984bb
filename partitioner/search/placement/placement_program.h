// The placement of ops as an integer program, after DLPlacer (Pal et al., 1907.13257; docs/papers.md 15.2), in the LP
// format. Its variables, by class (ops that lie together), device, op and transfer (of a value):
//
//   last      when everything has ended, which is made small
//   xC_D      class C lies on device D
//   tO        when op O begins
//   yT_A_B    transfer T goes from device A to device B; sT_A_B: when it begins
//   oI_J      op I goes before op J, if they meet on a device; pT_U_A_B: transfer T before U, if they do on a link
//
// A thousand is the time in which a known placement ends: solvers' tolerances are made for such numbers.
#ifndef PARTITA_PARTITIONER_SEARCH_PLACEMENT_PLACEMENT_PROGRAM_H_
#define PARTITA_PARTITIONER_SEARCH_PLACEMENT_PLACEMENT_PROGRAM_H_

#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "partitioner/search/placement/block_placement.h"
#include "partitioner/search/placement/placement_graph.h"

namespace partita {

// The graph must outlive it. Thread-compatible.
class PlacementProgram {
 public:
  // `end`: placements that end later are no solutions. The first op lies on device 0, others come into use in turn.
  PlacementProgram(const PlacementGraph& graph, const PlacementLimits& limits, double end);

  const std::string& text() const { return text_; }
  double SecondsOf(double objective) const { return objective * unit_; }

  // Devices and order as values of the variables say, everything as early as that order allows; without a bound.
  // kInternal: they are no placement.
  absl::StatusOr<BlockPlacement> PlacementOf(const std::map<std::string, double>& values) const;

 private:
  const PlacementGraph& graph_;
  const int devices_;
  const double unit_;  // seconds
  std::string text_;
};

}  // namespace partita

#endif  // PARTITA_PARTITIONER_SEARCH_PLACEMENT_PLACEMENT_PROGRAM_H_
