#include "partitioner/search/placement/activity_order.h"

#include <algorithm>
#include <limits>
#include <map>
#include <utility>

namespace partita {
namespace {

constexpr double kLater = std::numeric_limits<double>::infinity();

// A partial order: activities are started one after the other, each as early as what is started allows. At every node
// the activity that would end first settles a resource; each that could start there before that end is tried first
// (Giffler and Thompson). All orders in which nothing can start earlier are met so, the best one among them.
class OrderSearch {
 public:
  OrderSearch(const Activities& activities, double than, double* nodes)
      : all_(activities.all),
        nodes_(nodes),
        best_{than, {}},
        start_(all_.size(), 0),
        earliest_(all_.size(), 0),
        started_(all_.size(), false),
        free_(activities.resources, 0),
        tail_(all_.size()) {
    for (size_t i = all_.size(); i-- > 0;) {
      tail_[i] += all_[i].seconds;
      for (const int before : all_[i].before) tail_[before] = std::max(tail_[before], tail_[i]);
    }
  }

  ActivityOrder Best(bool first_only) {
    first_only_ = first_only;
    Descend(0);
    return best_;
  }

 private:
  void Descend(size_t started) {
    if (started == all_.size()) return Keep();
    if (nodes_ && --*nodes_ < 0) return;
    if (Bound() >= best_.end && !first_only_) return;
    for (const int activity : Candidates()) {
      const int resource = all_[activity].resource;
      const double free = free_[resource];
      FindEarliest();  // a deeper node has written over it
      start_[activity] = earliest_[activity];
      free_[resource] = start_[activity] + all_[activity].seconds;
      started_[activity] = true;
      Descend(started + 1);
      started_[activity] = false;
      free_[resource] = free;
      if (first_only_ || (nodes_ && *nodes_ < 0)) return;
    }
  }

  void Keep() {
    double end = 0;
    for (size_t i = 0; i < all_.size(); ++i) end = std::max(end, start_[i] + all_[i].seconds);
    if (end >= best_.end) return;
    best_ = {end, {}};
    for (size_t i = 0; i < all_.size(); ++i) {
      if (all_[i].op < 0) continue;
      if (all_[i].op >= static_cast<int>(best_.start.size())) best_.start.resize(all_[i].op + 1);
      best_.start[all_[i].op] = start_[i];
    }
  }

  void FindEarliest() {
    for (size_t i = 0; i < all_.size(); ++i) {
      if (started_[i]) continue;
      earliest_[i] = free_[all_[i].resource];
      for (const int before : all_[i].before) {
        const double from = started_[before] ? start_[before] : earliest_[before];
        earliest_[i] = std::max(earliest_[i], from + all_[before].seconds);
      }
    }
  }

  // No order from here ends earlier: ways to the end, and what each resource still has to do.
  double Bound() {
    FindEarliest();
    std::vector<double> head(free_.size(), kLater), work(free_.size(), 0), tail(free_.size(), kLater);
    double bound = 0;
    for (size_t i = 0; i < all_.size(); ++i) {
      if (started_[i]) continue;
      const int resource = all_[i].resource;
      bound = std::max(bound, earliest_[i] + tail_[i]);
      head[resource] = std::min(head[resource], earliest_[i]);
      work[resource] += all_[i].seconds;
      tail[resource] = std::min(tail[resource], tail_[i] - all_[i].seconds);
    }
    for (size_t r = 0; r < free_.size(); ++r) {
      if (work[r] > 0) bound = std::max(bound, head[r] + work[r] + tail[r]);
    }
    return bound;
  }

  bool CanStart(size_t activity) const {
    const std::vector<int>& before = all_[activity].before;
    return !started_[activity] && std::all_of(before.begin(), before.end(), [&](int i) { return started_[i]; });
  }

  // The longest way to the end first.
  std::vector<int> Candidates() {
    FindEarliest();
    int first = -1;
    const auto end = [&](size_t i) { return earliest_[i] + all_[i].seconds; };
    for (size_t i = 0; i < all_.size(); ++i) {
      if (CanStart(i) && (first < 0 || end(i) < end(first))) first = static_cast<int>(i);
    }
    std::vector<int> candidates;
    for (size_t i = 0; i < all_.size(); ++i) {
      const bool meets = all_[i].resource == all_[first].resource && earliest_[i] < end(first);
      if (static_cast<int>(i) == first || (CanStart(i) && meets)) candidates.push_back(static_cast<int>(i));
    }
    std::stable_sort(candidates.begin(), candidates.end(), [&](int a, int b) { return tail_[a] > tail_[b]; });
    return candidates;
  }

  const std::vector<Activity>& all_;
  double* nodes_;  // null: as many as it takes
  bool first_only_ = false;
  ActivityOrder best_;
  std::vector<double> start_, earliest_;
  std::vector<bool> started_;
  std::vector<double> free_;  // from when on a resource is
  std::vector<double> tail_;  // from an activity's start to the end, with nothing in the way
};

}  // namespace

Activities ActivitiesOf(const PlacementGraph& graph, const std::vector<int>& device, int devices) {
  std::vector<std::vector<const PlacedEdge*>> into(graph.ops.size());
  for (const PlacedEdge& edge : graph.edges) into[edge.to].push_back(&edge);
  Activities activities{{}, devices * (1 + devices)};
  std::vector<int> of_op;
  std::map<std::pair<int, int>, int> of_value;  // transfers by value and link
  for (int op = 0; op < static_cast<int>(graph.ops.size()); ++op) {
    Activity run{op, graph.ops[op].seconds, device[op], {}};
    for (const PlacedEdge* edge : into[op]) {
      const int from = device[edge->from], link = devices * (1 + from) + device[op];
      if (from == device[op] || edge->seconds == 0) {
        run.before.push_back(of_op[edge->from]);
        continue;
      }
      int transfer = static_cast<int>(activities.all.size());
      if (edge->value >= 0) transfer = of_value.emplace(std::pair(edge->value, link), transfer).first->second;
      if (transfer == static_cast<int>(activities.all.size())) {
        const auto first = static_cast<int>(edge - graph.edges.data());
        activities.all.push_back({-1, edge->seconds, link, {}, first});
      }
      std::vector<int>& before = activities.all[transfer].before;
      if (std::ranges::find(before, of_op[edge->from]) == before.end()) before.push_back(of_op[edge->from]);
      run.before.push_back(transfer);
    }
    of_op.push_back(static_cast<int>(activities.all.size()));
    activities.all.push_back(std::move(run));
  }
  return activities;
}

ActivityOrder ListOrder(const Activities& activities) { return OrderSearch(activities, kLater, nullptr).Best(true); }

ActivityOrder InOrder(const Activities& activities, const std::vector<double>& begins) {
  const std::vector<Activity>& all = activities.all;
  std::vector<double> end(all.size(), -1), free(activities.resources, 0);  // -1: not begun
  ActivityOrder order;
  for (size_t begun = 0; begun < all.size(); ++begun) {
    int next = -1;
    for (int i = 0; i < static_cast<int>(all.size()); ++i) {
      if (end[i] >= 0 || !std::ranges::all_of(all[i].before, [&](int before) { return end[before] >= 0; })) continue;
      if (next < 0 || std::pair(begins[i], all[i].seconds) < std::pair(begins[next], all[next].seconds)) next = i;
    }
    double start = free[all[next].resource];
    for (const int before : all[next].before) start = std::max(start, end[before]);
    end[next] = free[all[next].resource] = start + all[next].seconds;
    order.end = std::max(order.end, end[next]);
    if (all[next].op < 0) continue;
    order.start.resize(std::max<size_t>(order.start.size(), all[next].op + 1));
    order.start[all[next].op] = start;
  }
  return order;
}

ActivityOrder BestOrder(const Activities& activities, double than, double& nodes) {
  return OrderSearch(activities, than, &nodes).Best(false);
}

}  // namespace partita
