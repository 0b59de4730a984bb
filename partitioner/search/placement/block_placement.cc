#include "partitioner/search/placement/block_placement.h"

#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "partitioner/search/placement/activity_order.h"
#include "partitioner/search/placement/heft.h"

namespace partita {
namespace {

constexpr double kNone = std::numeric_limits<double>::infinity();

class BlockSearch {
 public:
  BlockSearch(const PlacementGraph& graph, const PlacementLimits& limits)
      : graph_(graph),
        limits_(limits),
        nodes_(limits.most_nodes),
        into_(graph.ops.size()),
        device_(graph.ops.size(), -1),
        head_(graph.ops.size(), 0),
        tail_(graph.ops.size(), 0),
        work_(limits.devices, 0),
        bytes_(limits.devices, 0) {
    for (const PlacedEdge& edge : graph.edges) into_[edge.to].push_back(&edge);
    for (size_t op = graph.ops.size(); op-- > 0;) {
      for (const PlacedEdge* edge : into_[op])
        tail_[edge->from] = std::max(tail_[edge->from], tail_[op] + graph.ops[op].seconds);
    }
    best_.seconds = kNone;
  }

  BlockPlacement Best() {
    if (const auto devices = HeftDevices(graph_, limits_.devices, limits_.bytes)) {
      const ActivityOrder order = ListOrder(ActivitiesOf(graph_, *devices, limits_.devices));
      best_.seconds = order.end;
      best_.placement = {Renumbered(*devices), order.start};
    }
    Descend(0, 0);
    best_.proven = nodes_ >= 0;
    best_.lower_bound = best_.proven ? best_.seconds : 0;
    return best_;
  }

 private:
  // As they come into use.
  static std::vector<int> Renumbered(std::vector<int> devices) {
    std::map<int, int> numbers;
    for (int& device : devices) device = numbers.emplace(device, static_cast<int>(numbers.size())).first->second;
    return devices;
  }

  // `used`: devices that hold an op; of those that do not, which are all alike, the first is tried.
  void Descend(size_t op, int used) {
    if (op == graph_.ops.size()) return Finish();
    if (--nodes_ < 0) return;
    const std::optional<int> given = Given(op);
    const int last = std::min(used, limits_.devices - 1);
    for (int device = given.value_or(0); device <= given.value_or(last); ++device) {
      if (bytes_[device] + graph_.ops[op].bytes > limits_.bytes) continue;
      device_[op] = device;
      bytes_[device] += graph_.ops[op].bytes;
      work_[device] += graph_.ops[op].seconds;
      if (Bound(op) < best_.seconds) Descend(op + 1, std::max(used, device + 1));
      work_[device] -= graph_.ops[op].seconds;
      bytes_[device] -= graph_.ops[op].bytes;
      device_[op] = -1;
    }
  }

  // The device of what lies together with it.
  std::optional<int> Given(size_t op) const {
    for (size_t other = 0; other < op; ++other) {
      if (graph_.ops[op].together >= 0 && graph_.ops[other].together == graph_.ops[op].together) return device_[other];
    }
    return std::nullopt;
  }

  // No order with these devices of the ops up to `op` is faster.
  double Bound(size_t op) {
    double start = 0;
    for (const PlacedEdge* edge : into_[op]) {
      const double transfer = device_[edge->from] == device_[op] ? 0 : edge->seconds;
      start = std::max(start, head_[edge->from] + graph_.ops[edge->from].seconds + transfer);
    }
    head_[op] = start;
    double bound = start + graph_.ops[op].seconds + tail_[op], first = kNone, last = kNone;
    for (size_t other = 0; other <= op; ++other) {
      if (device_[other] != device_[op]) continue;
      first = std::min(first, head_[other]);
      last = std::min(last, tail_[other]);
    }
    return std::max(bound, first + work_[device_[op]] + last);
  }

  void Finish() {
    const ActivityOrder order = BestOrder(ActivitiesOf(graph_, device_, limits_.devices), best_.seconds, nodes_);
    if (order.end >= best_.seconds) return;
    best_.seconds = order.end;
    best_.placement = {device_, order.start};
  }

  const PlacementGraph& graph_;
  const PlacementLimits& limits_;
  double nodes_;
  std::vector<std::vector<const PlacedEdge*>> into_;
  std::vector<int> device_;
  std::vector<double> head_;  // when an op starts at the earliest, by the devices so far
  std::vector<double> tail_;  // from an op's end to the end of all, without transfers
  std::vector<double> work_, bytes_;
  BlockPlacement best_;
};

}  // namespace

BlockPlacement PlaceBlock(const PlacementGraph& graph, const PlacementLimits& limits) {
  return BlockSearch(graph, limits).Best();
}

}  // namespace partita
