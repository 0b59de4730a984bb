#include "tests/partitioner/papers/tables/placement_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <memory>

#include "ops/registry.h"
#include "partitioner/choose/place_step.h"
#include "partitioner/clusters/shipped_clusters.h"
#include "partitioner/search/placement/activity_order.h"
#include "partitioner/search/placement/heft.h"
#include "partitioner/search/placement_search.h"
#include "partitioner/tables/stage_tables.h"
#include "runtime/base/status.h"
#include "tests/partitioner/papers/tables/tables.h"
#include "tools/models/models.h"

namespace partita {
namespace {

constexpr int kDevices = 2;
constexpr double kAnyBytes = std::numeric_limits<double>::infinity();

// By hand, in seconds.
struct Toy {
  const char* what;
  PlacementGraph graph;
  double bytes = kAnyBytes;  // of a device
};

PlacementGraph GraphOf(const std::vector<PlacedOp>& ops, double transfer,
                       const std::vector<std::pair<int, int>>& edges) {
  PlacementGraph graph{ops, {}};
  for (const auto& [from, to] : edges) graph.edges.push_back({from, to, transfer});
  return graph;
}

PlacementGraph Diamond(double transfer) {
  return GraphOf({{"A", 2, 1}, {"B", 4, 3}, {"C", 4, 3}, {"D", 2, 1}}, transfer, {{0, 1}, {0, 2}, {1, 3}, {2, 3}});
}

PlacementGraph TogetherDiamond() {
  PlacementGraph graph = Diamond(1);
  graph.ops[0].together = graph.ops[3].together = 0;
  return graph;
}

PlacementGraph FourBranches(double transfer) {
  return GraphOf({{"A", 1}, {"B", 3}, {"C", 5}, {"D", 6}, {"E", 2}, {"F", 1}}, transfer,
                 {{0, 1}, {0, 2}, {0, 3}, {0, 4}, {1, 5}, {2, 5}, {3, 5}, {4, 5}});
}

std::vector<Toy> Toys() {
  return {{"A2 > B4 C4 > D2, a transfer takes 1", Diamond(1)},
          {"the same, a transfer takes 3", Diamond(3)},
          {"a transfer takes 1; of 1, 3, 3, 1 bytes 4 a device", Diamond(1), 4},
          {"the same, 3.5 a device", Diamond(1), 3.5},
          {"a transfer takes 1; A and D together", TogetherDiamond()},
          {"A1 > B3 C5 D6 E2 > F1, a transfer takes no time", FourBranches(0)},
          {"the same, a transfer takes 1", FourBranches(1)}};
}

double LongestWay(const PlacementGraph& graph) {
  std::vector<double> end(graph.ops.size(), 0);
  for (size_t op = 0; op < end.size(); ++op) {
    for (const PlacedEdge& edge : graph.edges) {
      if (edge.to == static_cast<int>(op)) end[op] = std::max(end[op], end[edge.from]);
    }
    end[op] += graph.ops[op].seconds;
  }
  return *std::ranges::max_element(end);
}

// All but what the search says.
absl::StatusOr<PlacedPart> Described(const char* name, const PlacementGraph& graph) {
  const auto heft = HeftDevices(graph, kDevices, kAnyBytes);
  if (!heft) return Internal("HEFT found no room where there is no limit");
  PlacedPart part{name};
  part.alone = SerialSeconds(graph);
  part.heft = ListOrder(ActivitiesOf(graph, *heft, kDevices)).end;
  part.longest = LongestWay(graph);
  return part;
}

// Pools stay where the graph has them.
std::unique_ptr<const OpRegistry> OpsWithPoolsFirst() {
  std::vector<OpDefinition> definitions;
  for (const std::string& name : Ops().Names()) definitions.push_back(*Ops().Find(name));
  std::vector<Fusion> fusions = Ops().fusions();
  std::erase_if(fusions, [](const Fusion& fusion) { return fusion.name == "pool_last"; });
  return std::make_unique<const OpRegistry>(std::move(definitions), std::move(fusions), Ops().optimizers());
}

absl::Status PlaceWith(PlacedPart::Pools pools, int64_t samples, double launch_seconds, const OpRegistry& ops,
                       std::vector<PlacedPart>& parts) {
  ASSIGN_OR_RETURN(const Model model, MakeModel("inception-v3", {.batch = samples}, ops));
  ASSIGN_OR_RETURN(const LayerGraph layers, FindLayers(model.graph, ops));
  Cluster cluster = ShippedClusters().at("dgx1_v100");
  for (DeviceKind& kind : cluster.kinds) kind.launch_seconds = launch_seconds;
  const KernelTimes none_measured;
  const CostBasis basis{ops, cluster, none_measured};
  LayerCosts costs(layers, GroupMesh(1, kDevices), basis);
  ASSIGN_OR_RETURN(const WholeLayers whole, WholeLayers::Of(costs));
  const auto add = [&](PlacedPart part, const Judgement& found) {
    part.pools = pools;
    part.samples = samples;
    part.launch_seconds = launch_seconds;
    part.placed = found.seconds;
    part.least = found.lower_bound;
    parts.push_back(std::move(part));
  };
  const PlacementTable forward = PlacementTableOf(whole, StepPart::kForward);
  ASSIGN_OR_RETURN(PlacedPart of_forward, Described("forward", forward.graph));
  ASSIGN_OR_RETURN(const auto placed, PlacementSearch(forward.graph, {kDevices, kAnyBytes}));
  add(std::move(of_forward), placed);
  ASSIGN_OR_RETURN(PlacedPart of_step, Described("step", PlacementTableOf(whole, StepPart::kBoth).graph));
  ASSIGN_OR_RETURN(const auto step, PlaceStep(whole, kDevices, kAnyBytes));
  add(std::move(of_step), step);
  return absl::OkStatus();
}

absl::StatusOr<std::string> Print(const TableSizes&) {
  ASSIGN_OR_RETURN(std::string text, PlaceToys());
  ASSIGN_OR_RETURN(const std::vector<PlacedPart> parts, PlaceInception());
  text += fmt::format(
      "\nInception-V3 on two V100 of dgx1_v100, ms\n{:<6} {:>7} {:>9}  {:<8} {:>10} {:>8} {:>8} {:>8} {:>7} {:>8}\n",
      "pools", "samples", "launch us", "part", "one device", "HEFT", "placed", "times", "gap", "most");
  for (const PlacedPart& part : parts) {
    text += fmt::format("{:<6} {:>7} {:>9.0f}  {:<8} {:>10.3f} {:>8.3f} {:>8.3f} {:>8.3f} {:>5.2f} % {:>8.3f}\n",
                        part.pools == PlacedPart::Pools::kFirst ? "first" : "last", part.samples,
                        1e6 * part.launch_seconds, part.part, 1e3 * part.alone, 1e3 * part.heft, 1e3 * part.placed,
                        part.speedup(), 100 * part.gap(), part.alone / part.longest);
  }
  return text + "gap 0: proven to be the best; most: what no number of devices exceeds\n";
}

}  // namespace

absl::StatusOr<std::string> PlaceToys() {
  std::string text = fmt::format("{:<52} {:>10} {:>11}\n", "", "one device", "two devices");
  for (const Toy& toy : Toys()) {
    const absl::StatusOr<Answer<OpPlacement>> answer = PlacementSearch(toy.graph, {kDevices, toy.bytes});
    if (!answer.ok() && !absl::IsResourceExhausted(answer.status())) return answer.status();
    text += fmt::format("{:<52} {:>10} {:>11}\n", toy.what, SerialSeconds(toy.graph),
                        answer.ok() ? fmt::format("{}", answer->seconds) : "none fits");
  }
  return text;
}

absl::StatusOr<std::vector<PlacedPart>> PlaceInception() {
  std::vector<PlacedPart> parts;
  const auto pools_first = OpsWithPoolsFirst();
  for (const auto pools : {PlacedPart::Pools::kLast, PlacedPart::Pools::kFirst}) {
    const OpRegistry& ops = pools == PlacedPart::Pools::kFirst ? *pools_first : Ops();
    RETURN_IF_ERROR(PlaceWith(pools, 64, 0, ops, parts));
    RETURN_IF_ERROR(PlaceWith(pools, 1, 10e-6, ops, parts));
  }
  return parts;
}

PaperTable PlacementsTable() { return {"placement", "Pal et al.: a device for each op", false, false, Print}; }

}  // namespace partita
