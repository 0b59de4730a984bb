#include "partitioner/search/placement/heft.h"

#include <algorithm>
#include <limits>
#include <map>
#include <numeric>

namespace partita {
namespace {

class Heft {
 public:
  Heft(const PlacementGraph& graph, int devices, double bytes)
      : graph_(graph),
        room_(devices, bytes),
        free_(devices, 0),
        link_free_(devices * devices, 0),
        into_(graph.ops.size()),
        device_(graph.ops.size(), -1),
        end_(graph.ops.size(), 0) {
    for (const PlacedEdge& edge : graph.edges) into_[edge.to].push_back(&edge);
    for (const PlacedOp& op : graph.ops) {
      if (op.together >= 0) bytes_together_[op.together] += op.bytes;
    }
  }

  std::optional<std::vector<int>> Devices() {
    for (const int op : ByRank()) {
      int best = -1;
      double earliest = std::numeric_limits<double>::infinity();
      for (int device = 0; device < static_cast<int>(free_.size()); ++device) {
        if (!MayLie(op, device)) continue;
        const double end = End(op, device, link_free_);
        if (end < earliest) {
          earliest = end;
          best = device;
        }
      }
      if (best < 0) return std::nullopt;
      Place(op, best);
    }
    return device_;
  }

 private:
  // The longest way to the end falls along every edge; ops that take no time keep their order.
  std::vector<int> ByRank() const {
    std::vector<double> rank(graph_.ops.size(), 0);
    for (size_t op = rank.size(); op-- > 0;) {
      rank[op] += graph_.ops[op].seconds;
      for (const PlacedEdge* edge : into_[op]) rank[edge->from] = std::max(rank[edge->from], rank[op] + edge->seconds);
    }
    std::vector<int> order(graph_.ops.size());
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](int a, int b) { return rank[a] > rank[b]; });
    return order;
  }

  bool MayLie(int op, int device) const {
    const int together = graph_.ops[op].together;
    if (const auto place = device_together_.find(together); place != device_together_.end())
      return place->second == device;
    return BytesWith(op) <= room_[device];
  }

  double BytesWith(int op) const {
    const auto bytes = bytes_together_.find(graph_.ops[op].together);
    return bytes == bytes_together_.end() ? graph_.ops[op].bytes : bytes->second;
  }

  // When `op` would end, and until when links would be taken.
  double End(int op, int device, std::vector<double> link_free) const {
    double start = free_[device];
    for (const PlacedEdge* edge : into_[op]) start = std::max(start, Arrival(*edge, device, link_free));
    return start + graph_.ops[op].seconds;
  }

  double Arrival(const PlacedEdge& edge, int device, std::vector<double>& link_free) const {
    const int from = device_[edge.from];
    if (from == device || edge.seconds == 0) return end_[edge.from];
    double& link = link_free[from * static_cast<int>(free_.size()) + device];
    return link = std::max(link, end_[edge.from]) + edge.seconds;
  }

  void Place(int op, int device) {
    end_[op] = End(op, device, link_free_);
    for (const PlacedEdge* edge : into_[op]) Arrival(*edge, device, link_free_);
    free_[device] = end_[op];
    device_[op] = device;
    const int together = graph_.ops[op].together;
    if (together >= 0 && !device_together_.emplace(together, device).second) return;
    room_[device] -= BytesWith(op);
  }

  const PlacementGraph& graph_;
  std::vector<double> room_;
  std::vector<double> free_;       // from when on a device is
  std::vector<double> link_free_;  // from when on a link is: from device * devices + to device
  std::vector<std::vector<const PlacedEdge*>> into_;
  std::vector<int> device_;
  std::vector<double> end_;
  std::map<int, double> bytes_together_;
  std::map<int, int> device_together_;
};

}  // namespace

std::optional<std::vector<int>> HeftDevices(const PlacementGraph& graph, int devices, double bytes) {
  return Heft(graph, devices, bytes).Devices();
}

}  // namespace partita
