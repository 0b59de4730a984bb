#include "partitioner/search/placement/activity_order.h"

#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <utility>

namespace partita {
namespace {

constexpr double kLater = std::numeric_limits<double>::infinity();

// By activity, the longest way from its start to the end, with nothing in the way.
std::vector<double> TailsOf(const std::vector<Activity>& all) {
  std::vector<double> tails(all.size());
  for (size_t i = all.size(); i-- > 0;) {
    tails[i] += all[i].seconds;
    for (const int before : all[i].before) tails[before] = std::max(tails[before], tails[i]);
  }
  return tails;
}

ActivityOrder OrderOf(const std::vector<Activity>& all, const std::vector<double>& start) {
  ActivityOrder order;
  for (size_t i = 0; i < all.size(); ++i) {
    order.end = std::max(order.end, start[i] + all[i].seconds);
    if (all[i].op < 0) continue;
    if (all[i].op >= static_cast<int>(order.start.size())) order.start.resize(all[i].op + 1);
    order.start[all[i].op] = start[i];
  }
  return order;
}

// The first order that OrderSearch meets, in a time that grows with the activities and with how many can start at once.
class ListScheduler {
 public:
  explicit ListScheduler(const Activities& activities)
      : all_(activities.all),
        tail_(TailsOf(all_)),
        after_(all_.size()),
        missing_(all_.size()),
        ready_since_(all_.size(), 0),
        start_(all_.size(), 0),
        free_(activities.resources, 0) {
    for (size_t i = 0; i < all_.size(); ++i) {
      missing_[i] = all_[i].before.size();
      for (const int before : all_[i].before) after_[before].push_back(static_cast<int>(i));
      if (missing_[i] == 0) ready_.insert(static_cast<int>(i));
    }
  }

  ActivityOrder Run() {
    while (!ready_.empty()) Start(Next());
    return OrderOf(all_, start_);
  }

 private:
  double Earliest(int i) const { return std::max(free_[all_[i].resource], ready_since_[i]); }
  double End(int i) const { return Earliest(i) + all_[i].seconds; }

  int Next() const {
    int first = *ready_.begin();
    for (const int i : ready_) first = End(i) < End(first) ? i : first;
    int next = -1;
    for (const int i : ready_) {
      const bool meets = all_[i].resource == all_[first].resource && Earliest(i) < End(first);
      if (i != first && !meets) continue;
      if (next < 0 || tail_[i] > tail_[next]) next = i;
    }
    return next;
  }

  void Start(int activity) {
    start_[activity] = Earliest(activity);
    const double end = free_[all_[activity].resource] = start_[activity] + all_[activity].seconds;
    ready_.erase(activity);
    for (const int next : after_[activity]) {
      ready_since_[next] = std::max(ready_since_[next], end);
      if (--missing_[next] == 0) ready_.insert(next);
    }
  }

  const std::vector<Activity>& all_;
  const std::vector<double> tail_;
  std::vector<std::vector<int>> after_;
  std::vector<size_t> missing_;      // of `before`, that have not started
  std::vector<double> ready_since_;  // when those that have started end
  std::vector<double> start_;
  std::vector<double> free_;  // from when on a resource is
  std::set<int> ready_;
};

// A partial order: activities are started one after the other, each as early as what is started allows. At every node
// the activity that would end first settles a resource; each that could start there before that end is tried first
// (Giffler and Thompson). All orders in which nothing can start earlier are met so, the best one among them.
class OrderSearch {
 public:
  OrderSearch(const Activities& activities, double than, double& nodes)
      : all_(activities.all),
        nodes_(nodes),
        best_{than, {}},
        start_(all_.size(), 0),
        earliest_(all_.size(), 0),
        started_(all_.size(), false),
        free_(activities.resources, 0),
        tail_(TailsOf(all_)) {}

  ActivityOrder Best() {
    Descend(0);
    return best_;
  }

 private:
  void Descend(size_t started) {
    if (started == all_.size()) return Keep();
    if (--nodes_ < 0) return;
    if (Bound() >= best_.end) return;
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
      if (nodes_ < 0) return;
    }
  }

  void Keep() {
    ActivityOrder order = OrderOf(all_, start_);
    if (order.end < best_.end) best_ = std::move(order);
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
  double& nodes_;
  ActivityOrder best_;
  std::vector<double> start_, earliest_;
  std::vector<bool> started_;
  std::vector<double> free_;  // from when on a resource is
  const std::vector<double> tail_;
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

ActivityOrder ListOrder(const Activities& activities) { return ListScheduler(activities).Run(); }

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
  return OrderSearch(activities, than, nodes).Best();
}

}  // namespace partita
