#include "partitioner/search/placement_search.h"

#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "partitioner/search/placement/activity_order.h"
#include "partitioner/search/placement/heft.h"
#include "partitioner/search/placement/placement_blocks.h"
#include "runtime/base/number.h"
#include "runtime/base/status.h"

namespace partita {
namespace {

constexpr size_t kMostRejected = 8;

// What decides the placement of a block, to the last bit of its seconds.
std::string KeyOf(const PlacementGraph& block) {
  std::string key;
  std::map<int, int> together;
  for (const PlacedOp& op : block.ops) {
    const int number =
        op.together < 0 ? -1 : together.emplace(op.together, static_cast<int>(together.size())).first->second;
    key += fmt::format("{:a} {};", op.seconds, number);
  }
  for (const PlacedEdge& edge : block.edges)
    key += fmt::format("{} {} {:a} {};", edge.from, edge.to, edge.seconds, edge.value);
  return key;
}

// The longest way, and what one device or another must do; without transfers.
double LowerBound(const PlacementGraph& graph, int devices) {
  const std::vector<bool> alone = ComparableToAll(graph);
  std::vector<double> end(graph.ops.size(), 0);
  double longest = 0, shared = 0;
  std::vector<std::vector<int>> into(graph.ops.size());
  for (const PlacedEdge& edge : graph.edges) into[edge.to].push_back(edge.from);
  for (size_t op = 0; op < end.size(); ++op) {
    for (const int from : into[op]) end[op] = std::max(end[op], end[from]);
    end[op] += graph.ops[op].seconds;
    longest = std::max(longest, end[op]);
    shared += graph.ops[op].seconds / (alone[op] ? 1 : devices);
  }
  return std::max(longest, shared);
}

// Blocks one after the other; each begins on the device on which the one before ended.
class Chain {
 public:
  Chain(const PlacementGraph& graph, const PlacementLimits& limits)
      : graph_(graph),
        limits_(limits),
        whole_{{std::vector<int>(graph.ops.size(), -1), std::vector<double>(graph.ops.size(), 0)}, 0, 0, true} {
    limits_.bytes = std::numeric_limits<double>::infinity();
  }

  BlockPlacement Whole() {
    for (const std::vector<int>& block : PlacementBlocks(graph_)) Append(block);
    return whole_;
  }

 private:
  void Append(const std::vector<int>& ops) {
    const PlacementGraph part = PartOf(graph_, ops);
    const auto [known, is_new] = known_.try_emplace(KeyOf(part));
    if (is_new) {
      known->second = PlaceBlock(part, limits_);
      known->second.lower_bound = std::max(known->second.lower_bound, LowerBound(part, limits_.devices));
    }
    const BlockPlacement& block = known->second;
    std::vector<int>& device = whole_.placement.device;
    const bool first = device[ops[0]] < 0;
    const double begin = first ? 0 : whole_.placement.start[ops[0]], seconds = first ? 0 : graph_.ops[ops[0]].seconds;
    const std::vector<int> name = Names(first ? 0 : device[ops[0]]);
    for (size_t i = 0; i < ops.size(); ++i) {
      device[ops[i]] = name[block.placement.device[i]];
      whole_.placement.start[ops[i]] = begin + block.placement.start[i];
    }
    whole_.seconds += block.seconds - seconds;
    whole_.lower_bound += std::min(block.lower_bound, block.seconds) - seconds;
    whole_.proven = whole_.proven && block.proven;
  }

  // The block's device 0 is `first`; the others keep their order.
  std::vector<int> Names(int first) const {
    std::vector<int> names{first};
    for (int device = 0; device < limits_.devices; ++device) {
      if (device != first) names.push_back(device);
    }
    return names;
  }

  const PlacementGraph& graph_;
  PlacementLimits limits_;
  std::map<std::string, BlockPlacement> known_;
  BlockPlacement whole_;
};

// What stands beside the plan.
class Others {
 public:
  Others(const PlacementGraph& graph, const PlacementLimits& limits, const Answer<OpPlacement>& answer)
      : graph_(graph), limits_(limits), answer_(answer) {}

  std::vector<Rejected> All() {
    Try("one device", std::vector<int>(graph_.ops.size(), 0));
    if (const auto heft = HeftDevices(graph_, limits_.devices, limits_.bytes)) Try("HEFT", *heft);
    for (size_t op = 0; op < graph_.ops.size(); ++op) {
      for (int device = 0; device < limits_.devices; ++device) Move(op, device);
    }
    std::stable_sort(rejected_.begin(), rejected_.end(),
                     [](const Rejected& a, const Rejected& b) { return a.seconds < b.seconds; });
    if (rejected_.size() > kMostRejected) rejected_.resize(kMostRejected);
    return rejected_;
  }

 private:
  void Move(size_t op, int device) {
    std::vector<int> devices = answer_.plan.device;
    if (devices[op] == device) return;
    const int together = graph_.ops[op].together;
    for (size_t other = 0; other < devices.size(); ++other) {
      if (other == op || (together >= 0 && graph_.ops[other].together == together)) devices[other] = device;
    }
    Try(fmt::format("'{}' on device {}", graph_.ops[op].op, device), devices);
  }

  void Try(std::string plan, const std::vector<int>& devices) {
    const double seconds = ListOrder(ActivitiesOf(graph_, devices, limits_.devices)).end;
    const double bytes = FullestBytes(graph_, devices, limits_.devices);
    if (bytes > limits_.bytes) {
      rejected_.push_back({std::move(plan), seconds, bytes,
                           fmt::format("does not fit: {:.6g} bytes over the limit", bytes - limits_.bytes)});
    } else if (seconds >= answer_.seconds) {
      const double slower = 1e6 * (seconds - answer_.seconds);
      rejected_.push_back(
          {std::move(plan), seconds, bytes, slower > 0 ? fmt::format("slower by {:.4g} us", slower) : "as fast"});
    }
  }

  const PlacementGraph& graph_;
  const PlacementLimits& limits_;
  const Answer<OpPlacement>& answer_;
  std::vector<Rejected> rejected_;
};

absl::Status NoPlacement(const PlacementGraph& graph, const PlacementLimits& limits, bool proven) {
  double bytes = 0;
  for (const PlacedOp& op : graph.ops) bytes += op.bytes;
  return ResourceExhausted("{} {} of together {:.6g} bytes on {} of {:.6g} each",
                           proven ? "there is no placement of" : "the search found in its time no placement of",
                           Counted(graph.ops.size(), "op"), bytes, Counted(limits.devices, "device"), limits.bytes);
}

}  // namespace

absl::StatusOr<Answer<OpPlacement>> PlacementSearch(const PlacementGraph& graph, const PlacementLimits& limits) {
  RETURN_IF_ERROR(CheckPlacementGraph(graph));
  if (limits.devices < 1 || graph.ops.empty())
    return InvalidArgument("{} ops on {} devices: at least one of both is needed", graph.ops.size(), limits.devices);
  BlockPlacement found = Chain(graph, limits).Whole();
  const double unlimited = found.lower_bound;
  if (FullestBytes(graph, found.placement.device, limits.devices) > limits.bytes) {
    found = PlaceBlock(graph, limits);
    if (found.placement.device.empty()) return NoPlacement(graph, limits, found.proven);
  } else if (const auto heft = HeftDevices(graph, limits.devices, limits.bytes); heft && !found.proven) {
    const ActivityOrder order = ListOrder(ActivitiesOf(graph, *heft, limits.devices));
    if (order.end < found.seconds) found.seconds = order.end, found.placement = {*heft, order.start};
  }
  Answer<OpPlacement> answer{{found.seconds, 0, 0, {}}, std::move(found.placement)};
  answer.lower_bound = found.proven ? found.seconds : std::min(found.seconds, std::max(found.lower_bound, unlimited));
  answer.bytes = FullestBytes(graph, answer.plan.device, limits.devices);
  answer.rejected = Others(graph, limits, answer).All();
  return answer;
}

}  // namespace partita
