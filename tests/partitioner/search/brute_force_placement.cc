#include "tests/partitioner/search/brute_force_placement.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <map>
#include <string>

#include "partitioner/search/placement/activity_order.h"

namespace partita {
namespace {

constexpr double kAll = std::numeric_limits<double>::infinity();

// Every order in which activities can be started, each at the earliest; no branch but those that are already too late
// is left out.
class AllOrders {
 public:
  explicit AllOrders(const Activities& activities, double than)
      : all_(activities.all), end_(all_.size(), -1), free_(activities.resources, 0), best_(than) {}

  double Best() {
    Descend(0, 0);
    return best_;
  }

 private:
  void Descend(size_t started, double last) {
    if (last >= best_) return;
    if (started == all_.size()) best_ = last;
    for (size_t i = 0; i < all_.size(); ++i) {
      if (end_[i] >= 0) continue;
      double start = free_[all_[i].resource];
      bool ready = true;
      for (const int before : all_[i].before) {
        ready = ready && end_[before] >= 0;
        start = std::max(start, end_[before]);
      }
      if (!ready) continue;
      const double free = free_[all_[i].resource];
      free_[all_[i].resource] = end_[i] = start + all_[i].seconds;
      Descend(started + 1, std::max(last, end_[i]));
      free_[all_[i].resource] = free;
      end_[i] = -1;
    }
  }

  const std::vector<Activity>& all_;
  std::vector<double> end_, free_;
  double best_;
};

// What an op gives to several, or what several give to one, as one value.
void Share(bool forward, std::vector<PlacedEdge>& edges) {
  std::map<int, double> seconds;
  for (PlacedEdge& edge : edges) {
    edge.value = forward ? edge.from : edge.to;
    edge.seconds = seconds.emplace(edge.value, edge.seconds).first->second;
  }
}

}  // namespace

PlacementGraph GraphOf(const std::vector<double>& seconds, const std::vector<PlacedEdge>& edges) {
  PlacementGraph graph{{}, edges};
  for (const double one : seconds) graph.ops.push_back({"op" + std::to_string(graph.ops.size()), one, 1, -1});
  return graph;
}

PlacementGraph RandomPlacementGraph(std::mt19937& random, bool together) {
  const int ops = 2 + static_cast<int>(random() % 5);
  std::vector<double> seconds;
  for (int op = 0; op < ops; ++op) seconds.push_back(static_cast<double>(random() % 7));
  std::vector<PlacedEdge> edges;
  for (int to = 1; to < ops; ++to) {
    for (int from = 0; from < to; ++from) {
      if (random() % 5 < 2) edges.push_back({from, to, static_cast<double>(random() % 4)});
    }
  }
  if (const auto share = random() % 3; share > 0) Share(share == 1, edges);
  PlacementGraph graph = GraphOf(seconds, edges);
  for (PlacedOp& op : graph.ops) {
    op.bytes = static_cast<double>(random() % 5);
    if (together && random() % 3 == 0) op.together = static_cast<int>(random() % 2);
  }
  return graph;
}

bool KeepsTogether(const PlacementGraph& graph, const std::vector<int>& device) {
  for (size_t a = 0; a < device.size(); ++a) {
    for (size_t b = 0; b < a; ++b) {
      if (graph.ops[a].together >= 0 && graph.ops[a].together == graph.ops[b].together && device[a] != device[b])
        return false;
    }
  }
  return true;
}

double BestEndOfAll(const PlacementGraph& graph, int devices, double bytes) {
  double best = kAll;
  std::vector<int> device(graph.ops.size(), 0);
  for (;;) {
    if (KeepsTogether(graph, device) && FullestBytes(graph, device, devices) <= bytes)
      best = AllOrders(ActivitiesOf(graph, device, devices), best).Best();
    size_t op = 0;
    for (; op < device.size() && ++device[op] == devices; ++op) device[op] = 0;
    if (op == device.size()) return best;
  }
}

double ReplayedEnd(const PlacementGraph& graph, const OpPlacement& placement) {
  double end = 0;
  for (size_t op = 0; op < graph.ops.size(); ++op) {
    end = std::max(end, placement.start[op] + graph.ops[op].seconds);
    for (size_t other = 0; other < op; ++other) {
      if (placement.device[op] != placement.device[other]) continue;
      EXPECT_TRUE(placement.start[other] + graph.ops[other].seconds <= placement.start[op] ||
                  placement.start[op] + graph.ops[op].seconds <= placement.start[other]);
    }
  }
  for (const PlacedEdge& edge : graph.edges) {
    const double transfer = placement.device[edge.from] == placement.device[edge.to] ? 0 : edge.seconds;
    EXPECT_LE(placement.start[edge.from] + graph.ops[edge.from].seconds + transfer, placement.start[edge.to]);
  }
  return end;
}

}  // namespace partita
