#include "partitioner/search/placement/placement_program.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "partitioner/search/placement/activity_order.h"
#include "partitioner/search/placement/placement_blocks.h"
#include "runtime/base/status.h"

namespace partita {
namespace {

constexpr double kParts = 1000;
constexpr double kSlack = 1e-3;  // that rounding may take from what is known
constexpr char kLast[] = "last";

std::string Lies(int group, int device) { return fmt::format("x{}_{}", group, device); }
std::string Begin(int op) { return fmt::format("t{}", op); }
std::string Goes(int transfer, int from, int to) { return fmt::format("y{}_{}_{}", transfer, from, to); }
std::string BeginOf(int transfer, int from, int to) { return fmt::format("s{}_{}_{}", transfer, from, to); }

// By op, the number of its class.
std::vector<int> ClassesOf(const PlacementGraph& graph) {
  std::map<int, int> together;
  std::vector<int> classes;
  int count = 0;
  for (const PlacedOp& op : graph.ops) {
    const bool alone = op.together < 0;
    const auto [known, is_new] = alone ? std::pair(together.end(), true) : together.emplace(op.together, count);
    classes.push_back(is_new ? count++ : known->second);
  }
  return classes;
}

// By edge, the transfer that it is where it leads from one device to another.
std::vector<int> TransfersOf(const PlacementGraph& graph) {
  std::map<int, int> of_value;
  std::vector<int> transfers;
  int count = 0;
  for (const PlacedEdge& edge : graph.edges) {
    const bool alone = edge.value < 0;
    const auto [known, is_new] = alone ? std::pair(of_value.end(), true) : of_value.emplace(edge.value, count);
    transfers.push_back(is_new ? count++ : known->second);
  }
  return transfers;
}

// By op, whether it is read, directly or through others, by each other one.
std::vector<std::vector<bool>> ReadersOf(const PlacementGraph& graph) {
  const size_t ops = graph.ops.size();
  std::vector<std::vector<bool>> after(ops, std::vector<bool>(ops, false));
  std::vector<std::vector<int>> from(ops);
  for (const PlacedEdge& edge : graph.edges) from[edge.from].push_back(edge.to);
  for (size_t op = ops; op-- > 0;) {
    for (const int to : from[op]) {
      after[op][to] = true;
      for (size_t i = to; i < ops; ++i) after[op][i] = after[op][i] || after[to][i];
    }
  }
  return after;
}

// Rows, bounds and kinds of variables, as text.
class LpText {
 public:
  using Terms = std::map<std::string, double>;

  void AtLeast(const Terms& terms, double least) { Row(terms, ">=", least); }
  void Equal(const Terms& terms, double value) { Row(terms, "=", value); }
  void Bound(const std::string& variable, double least, double most) {
    bounds_ += fmt::format(" {} <= {} <= {}\n", least, variable, std::max(least, most));
  }
  void Binary(const std::string& variable) { binaries_ += " " + variable + "\n"; }

  std::string Minimize(const std::string& variable) const {
    return fmt::format("Minimize\n cost: {}\nSubject To\n{}Bounds\n{}Binaries\n{}End\n", variable, rows_, bounds_,
                       binaries_);
  }

 private:
  void Row(const Terms& terms, const char* relation, double value) {
    rows_ += fmt::format(" r{}:", count_++);
    for (const auto& [variable, factor] : terms) {
      if (factor != 0) rows_ += fmt::format(" {} {} {}\n", factor < 0 ? '-' : '+', std::abs(factor), variable);
    }
    rows_ += fmt::format(" {} {}\n", relation, value);
  }

  int count_ = 0;
  std::string rows_, bounds_, binaries_;
};

// What takes a device or a link for a while, and between which times it can begin.
struct Stay {
  std::string begin;
  double length = 0, first = 0, last = 0;
};

class ProgramWriter {
 public:
  ProgramWriter(const PlacementGraph& graph, const PlacementLimits& limits, double unit)
      : graph_(graph),
        limits_(limits),
        unit_(unit),
        classes_(ClassesOf(graph)),
        readers_(ReadersOf(graph)),
        edges_of_(graph.edges.size()) {
    const std::vector<int> transfers = TransfersOf(graph);
    for (size_t e = 0; e < graph.edges.size(); ++e) {
      const PlacedEdge& edge = graph.edges[e];
      if (edge.seconds > 0 && classes_[edge.from] != classes_[edge.to]) edges_of_[transfers[e]].push_back(&edge);
    }
    FindStays();
  }

  std::string Text() {
    AddDevices();
    AddMemory();
    AddOps();
    AddWork();
    for (int from = 0; from < limits_.devices; ++from) {
      for (int to = 0; to < limits_.devices; ++to) {
        if (from != to) AddLink(from, to);
      }
    }
    return lp_.Minimize(kLast);
  }

 private:
  double Length(int op) const { return graph_.ops[op].seconds / unit_; }
  int ops() const { return static_cast<int>(graph_.ops.size()); }

  // By the longest ways from the begin and to the end.
  void FindStays() {
    std::vector<double> head(ops(), 0), tail(ops(), 0);
    for (int op = 0; op < ops(); ++op) {
      for (int to = op + 1; to < ops(); ++to) {
        if (readers_[op][to]) head[to] = std::max(head[to], head[op] + Length(op));
      }
    }
    for (int op = ops(); op-- > 0;) {
      for (int to = op + 1; to < ops(); ++to) {
        if (readers_[op][to]) tail[op] = std::max(tail[op], tail[to] + Length(to));
      }
      const double last = kParts + kSlack - tail[op] - Length(op);
      stays_.insert(stays_.begin(), {Begin(op), Length(op), head[op], std::max(last, head[op])});
    }
  }

  void AddDevices() {
    const int count = 1 + *std::ranges::max_element(classes_);
    for (int group = 0; group < count; ++group) {
      LpText::Terms one;
      for (int device = 0; device < limits_.devices; ++device) {
        one[Lies(group, device)] = 1;
        lp_.Binary(Lies(group, device));
        if (device > 0) AddTurn(group, device);
      }
      lp_.Equal(one, 1);
    }
  }

  // A device comes into use behind the one before it: all are alike.
  void AddTurn(int group, int device) {
    LpText::Terms terms{{Lies(group, device), -1}};
    for (int before = 0; before < group; ++before) terms[Lies(before, device - 1)] = 1;
    lp_.AtLeast(terms, 0);
  }

  void AddMemory() {
    if (!std::isfinite(limits_.bytes)) return;
    // A power of two: sums that are just as large as the limit stay so.
    const double unit = std::exp2(std::ceil(std::log2(std::max(limits_.bytes, 1.0) / kParts)));
    for (int device = 0; device < limits_.devices; ++device) {
      LpText::Terms terms;
      for (int op = 0; op < ops(); ++op) terms[Lies(classes_[op], device)] -= graph_.ops[op].bytes / unit;
      lp_.AtLeast(terms, -limits_.bytes / unit);
    }
  }

  void AddOps() {
    lp_.Bound(kLast, 0, kParts + kSlack);
    for (int op = 0; op < ops(); ++op) {
      lp_.Bound(stays_[op].begin, stays_[op].first, stays_[op].last);
      lp_.AtLeast({{kLast, 1}, {Begin(op), -1}}, Length(op));
      for (int other = op + 1; other < ops(); ++other) {
        if (!readers_[op][other] && Length(op) + Length(other) > 0) AddMeeting(op, other);
      }
    }
    for (const PlacedEdge& edge : graph_.edges) AddEdge(edge);
  }

  // Ops of which neither reads the other may lie on one device.
  void AddMeeting(int op, int other) {
    const bool always = classes_[op] == classes_[other];
    const std::string order = fmt::format("o{}_{}", op, other);
    for (int device = 0; device < limits_.devices; ++device) {
      std::vector<std::string> meet = {Lies(classes_[op], device), Lies(classes_[other], device)};
      if (always) meet.clear();
      AddOrder(stays_[op], stays_[other], order, meet);
      if (always) break;
    }
  }

  // Where all of `meet` are 1, one goes before the other; nothing is said where one order is certain.
  void AddOrder(const Stay& one, const Stay& other, const std::string& order, const std::vector<std::string>& meet) {
    const double late = one.last + one.length - other.first, early = other.last + other.length - one.first;
    if (late <= 0 || early <= 0) return;
    const auto all = static_cast<double>(meet.size());
    LpText::Terms before{{other.begin, 1}, {one.begin, -1}, {order, -late}};
    LpText::Terms behind{{one.begin, 1}, {other.begin, -1}, {order, early}};
    for (const std::string& variable : meet) {
      before[variable] -= late;
      behind[variable] -= early;
    }
    lp_.AtLeast(before, one.length - late * (1 + all));
    lp_.AtLeast(behind, other.length - early * all);
    if (ordered_.insert(order).second) lp_.Binary(order);
  }

  // Pal's row: what is read has been made and, from another device, sent.
  void AddEdge(const PlacedEdge& edge) {
    LpText::Terms terms{{Begin(edge.to), 1}, {Begin(edge.from), -1}};
    lp_.AtLeast(terms, Length(edge.from));
    const int from = classes_[edge.from], to = classes_[edge.to];
    if (edge.seconds == 0 || from == to) return;
    const double sent = edge.seconds / unit_;
    for (int device = 0; device < limits_.devices; ++device) {
      LpText::Terms with = terms;
      with[Lies(from, device)] = -sent;
      with[Lies(to, device)] = sent;
      lp_.AtLeast(with, Length(edge.from));
    }
  }

  // Between two ops that are before or after all others, each device does its share of what lies between them. It
  // follows from the orders, but not where these are not whole numbers yet.
  void AddWork() {
    const std::vector<bool> alone = ComparableToAll(graph_);
    int border = -1;
    for (int op = 0; op <= ops(); ++op) {
      if (op < ops() && !alone[op]) continue;
      for (int device = 0; device < limits_.devices; ++device) AddWorkBetween(border, op, device);
      border = op;
    }
  }

  void AddWorkBetween(int border, int next, int device) {
    LpText::Terms terms{{next < ops() ? Begin(next) : kLast, 1}};
    if (border >= 0) terms[Begin(border)] -= 1;
    for (int op = border + 1; op < next; ++op) terms[Lies(classes_[op], device)] -= Length(op);
    lp_.AtLeast(terms, border < 0 ? 0 : Length(border));
  }

  void AddLink(int from, int to) {
    std::vector<std::pair<int, Stay>> stays;
    for (int transfer = 0; transfer < static_cast<int>(edges_of_.size()); ++transfer) {
      if (!edges_of_[transfer].empty()) stays.emplace_back(transfer, AddTransfer(transfer, from, to));
    }
    for (size_t i = 0; i < stays.size(); ++i) {
      for (size_t j = i + 1; j < stays.size(); ++j) {
        const int a = stays[i].first, b = stays[j].first;
        if (AllBefore(a, b) || AllBefore(b, a)) continue;
        AddOrder(stays[i].second, stays[j].second, fmt::format("p{}_{}_{}_{}", a, b, from, to),
                 {Goes(a, from, to), Goes(b, from, to)});
      }
    }
  }

  // Whether what one transfer brings is read before anything of the other is made.
  bool AllBefore(int one, int other) const {
    return std::ranges::all_of(edges_of_[one], [&](const PlacedEdge* first) {
      return std::ranges::all_of(edges_of_[other], [&](const PlacedEdge* second) {
        return first->to == second->from || readers_[first->to][second->from];
      });
    });
  }

  // After all that it carries was made, and before all that reads it.
  Stay AddTransfer(int transfer, int from, int to) {
    const std::vector<const PlacedEdge*>& edges = edges_of_[transfer];
    Stay stay{BeginOf(transfer, from, to), edges[0]->seconds / unit_, kParts, 0};
    for (const PlacedEdge* edge : edges) {
      stay.first = std::min(stay.first, stays_[edge->from].first + Length(edge->from));
      stay.last = std::max(stay.last, stays_[edge->to].last - stay.length);
    }
    stay.last = std::max(stay.last, stay.first);
    lp_.Bound(stay.begin, stay.first, stay.last);
    const std::string goes = Goes(transfer, from, to);
    lp_.Bound(goes, 0, 1);
    for (const PlacedEdge* edge : edges) {
      const std::string source = Lies(classes_[edge->from], from), target = Lies(classes_[edge->to], to);
      lp_.AtLeast({{goes, 1}, {source, -1}, {target, -1}}, -1);
      const Stay &made = stays_[edge->from], &read = stays_[edge->to];
      const double early = std::max(made.last + made.length - stay.first, 0.0);
      const double late = std::max(stay.last + stay.length - read.first, 0.0);
      lp_.AtLeast({{stay.begin, 1}, {made.begin, -1}, {source, -early}, {target, -early}}, made.length - 2 * early);
      lp_.AtLeast({{read.begin, 1}, {stay.begin, -1}, {source, -late}, {target, -late}}, stay.length - 2 * late);
    }
    return stay;
  }

  const PlacementGraph& graph_;
  const PlacementLimits& limits_;
  const double unit_;
  const std::vector<int> classes_;
  const std::vector<std::vector<bool>> readers_;
  std::vector<std::vector<const PlacedEdge*>> edges_of_;  // by transfer
  std::vector<Stay> stays_;                               // of ops
  std::set<std::string> ordered_;
  LpText lp_;
};

double ValueOf(const std::map<std::string, double>& values, const std::string& variable) {
  const auto found = values.find(variable);
  return found == values.end() ? 0 : found->second;
}

}  // namespace

PlacementProgram::PlacementProgram(const PlacementGraph& graph, const PlacementLimits& limits, double end)
    : graph_(graph), devices_(limits.devices), unit_(end > 0 ? end / kParts : 1) {
  text_ = ProgramWriter(graph, limits, unit_).Text();
}

absl::StatusOr<BlockPlacement> PlacementProgram::PlacementOf(const std::map<std::string, double>& values) const {
  BlockPlacement found;
  for (const int group : ClassesOf(graph_)) {
    int on = -1;
    for (int device = 0; device < devices_; ++device) {
      if (ValueOf(values, Lies(group, device)) > 0.5) on = device;
    }
    if (on < 0) return Internal("the solver's answer puts class {} of a placement on no device", group);
    found.placement.device.push_back(on);
  }
  const Activities activities = ActivitiesOf(graph_, found.placement.device, devices_);
  const std::vector<int> transfers = TransfersOf(graph_);
  std::vector<double> begins;
  for (const Activity& activity : activities.all) {
    const int link = activity.resource - devices_;
    const std::string begin =
        activity.op >= 0 ? Begin(activity.op) : BeginOf(transfers[activity.edge], link / devices_, link % devices_);
    begins.push_back(std::round(ValueOf(values, begin) / kSlack));
  }
  ActivityOrder order = InOrder(activities, begins);
  found.seconds = order.end;
  found.placement.start = std::move(order.start);
  return found;
}

}  // namespace partita
