#include "partitioner/choose/place_step.h"

#include <algorithm>
#include <limits>

#include "partitioner/search/placement/activity_order.h"
#include "partitioner/search/placement/solve_placement.h"
#include "partitioner/search/placement/two_parts_bound.h"
#include "partitioner/search/placement_search.h"
#include "runtime/base/status.h"

namespace partita {
namespace {

// Of the search of the whole, which mostly finds no more than HEFT.
constexpr double kNodesOfWhole = 2e5;

class StepPlacer {
 public:
  StepPlacer(const LayerGraph& layers, const PlacementTable& whole, const PlacementLimits& limits)
      : layers_(layers), whole_(whole), limits_(limits) {}

  void Try(const PlacementTable& part, const OpPlacement& placement, Answer<std::vector<int>>& best) const {
    Try(DevicesOfLayers(layers_, part, placement.device), best);
  }

  // Each layer on each other rank, kept where the step gets shorter.
  void TryNeighbours(Answer<std::vector<int>>& best) const {
    for (size_t layer = 0; layer < best.plan.size(); ++layer) {
      for (int device = 0; device < limits_.devices; ++device) {
        std::vector<int> of_layer = best.plan;
        of_layer[layer] = device;
        if (of_layer != best.plan) Try(of_layer, best);
      }
    }
  }

  // What a solver finds and proves of the whole.
  absl::Status Solve(const ProgramSolver& solver, Answer<std::vector<int>>& best) const {
    BlockPlacement known;
    known.placement.device = OpsOf(best.plan);
    known.seconds = best.seconds;
    known.lower_bound = best.lower_bound;
    ASSIGN_OR_RETURN(const BlockPlacement solved, SolvePlacement(whole_.graph, limits_, known, solver));
    best.lower_bound = solved.lower_bound;
    if (solved.seconds >= best.seconds) return absl::OkStatus();
    best.plan = DevicesOfLayers(layers_, whole_, solved.placement.device);
    best.seconds = solved.seconds;
    best.bytes = FullestBytes(whole_.graph, solved.placement.device, limits_.devices);
    return absl::OkStatus();
  }

 private:
  std::vector<int> OpsOf(const std::vector<int>& of_layer) const {
    std::vector<int> of_op;
    for (const int layer : whole_.layer_of_op) of_op.push_back(of_layer[layer]);
    return of_op;
  }

  // Takes these devices if the whole step is shorter with them and fits.
  void Try(const std::vector<int>& of_layer, Answer<std::vector<int>>& best) const {
    const std::vector<int> of_op = OpsOf(of_layer);
    const double bytes = FullestBytes(whole_.graph, of_op, limits_.devices);
    const double seconds = ListOrder(ActivitiesOf(whole_.graph, of_op, limits_.devices)).end;
    if (bytes > limits_.bytes || seconds >= best.seconds) return;
    best.plan = of_layer;
    best.seconds = seconds;
    best.bytes = bytes;
  }

  const LayerGraph& layers_;
  const PlacementTable& whole_;
  const PlacementLimits& limits_;
};

}  // namespace

absl::StatusOr<Answer<std::vector<int>>> PlaceStep(const WholeLayers& layers, int model, double bytes,
                                                   const ProgramSolver& solver) {
  PlacementLimits limits;
  limits.devices = model;
  limits.bytes = bytes;
  const PlacementTable whole = PlacementTableOf(layers, StepPart::kBoth);
  PlacementLimits short_limits = limits;
  short_limits.most_nodes = kNodesOfWhole;
  ASSIGN_OR_RETURN(const Answer<OpPlacement> found, PlacementSearch(whole.graph, short_limits));
  Answer<std::vector<int>> best{found, DevicesOfLayers(layers.layers(), whole, found.plan.device)};
  const StepPlacer placer(layers.layers(), whole, limits);
  PlacementLimits unlimited = limits;
  unlimited.bytes = std::numeric_limits<double>::infinity();
  double forward = 0, backward = 0;
  for (const StepPart part : {StepPart::kForward, StepPart::kBackward, StepPart::kJoined}) {
    const PlacementTable table = PlacementTableOf(layers, part);
    if (table.graph.ops.empty()) continue;
    ASSIGN_OR_RETURN(const Answer<OpPlacement> answer, PlacementSearch(table.graph, unlimited));
    if (part == StepPart::kForward) forward = answer.lower_bound;
    if (part == StepPart::kBackward) backward = answer.lower_bound;
    placer.Try(table, answer.plan, best);
  }
  placer.TryNeighbours(best);
  const double parts = TwoPartsBound(whole.graph, whole.forward_ops, forward, backward);
  best.lower_bound = std::min(best.seconds, std::max(best.lower_bound, parts));
  if (solver && best.Gap() > 0) RETURN_IF_ERROR(placer.Solve(solver, best));
  std::erase_if(best.rejected, [&](const Rejected& rejected) { return rejected.seconds < best.seconds; });
  return best;
}

}  // namespace partita
