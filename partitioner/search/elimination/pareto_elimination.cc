#include "partitioner/search/elimination/pareto_elimination.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>

#include "partitioner/search/elimination/memory_price.h"

namespace partita {
namespace {

constexpr double kRounding = 1e-9;  // of sums of seconds, in parts of them

// A part of a plan: what it costs, and how it came to be.
struct Point {
  double seconds = 0;
  double bytes = 0;
  int trace = -1;
};

// A config of an op (or none), and one or two parts of the plan that it was added to.
struct Trace {
  int op = -1;
  int config = 0;
  int first = -1;
  int second = -1;
};

// By the configs of `scope`, all parts of a plan of which none is better in seconds and bytes.
struct Lists {
  std::vector<int> scope;
  std::vector<int> sizes;
  std::vector<std::vector<Point>> lists;

  const std::vector<Point>& At(const std::vector<int>& chosen) const {
    int64_t index = 0;
    for (size_t d = 0; d < scope.size(); ++d) index = index * sizes[d] + chosen[scope[d]];
    return lists[index];
  }
};

// Leaves points that are faster than all with fewer bytes, by more than `coarseness`.
void Thin(std::vector<Point>& points, double coarseness) {
  std::stable_sort(points.begin(), points.end(), [](const Point& a, const Point& b) {
    return a.bytes != b.bytes ? a.bytes < b.bytes : a.seconds < b.seconds;
  });
  double fastest = kNever;
  size_t kept = 0;
  for (const Point& point : points) {
    if (point.seconds * (1 + coarseness) >= fastest) continue;
    fastest = point.seconds;
    points[kept++] = point;
  }
  points.resize(kept);
}

class Run {
 public:
  Run(const CostTables& tables, const EliminationOrder& order, const ParetoLimits& limits)
      : tables_(tables), limits_(limits), order_(order), priced_(Priced(tables, order, limits.price)) {
    if (priced_.Least() == kNever) return;
    rests_ = priced_.Rests();
    waiting_.resize(tables.ops.size());
    chosen_.resize(tables.ops.size());
    for (const BucketElimination::Bucket& bucket : priced_.buckets()) edges_.push_back(EdgesOf(bucket));
    coarseness_ = std::pow(1 + limits.coarseness, 1.0 / static_cast<double>(tables.ops.size())) - 1;
  }

  ParetoResult Result() {
    if (priced_.Least() == kNever) return {true, std::nullopt};
    whole_ = {Point{}};
    for (const int op : order_.ops) {
      if (!Eliminate(op)) return {};
    }
    ParetoResult result{true, std::nullopt};
    if (whole_.empty()) return result;
    // The list rises in bytes and falls in seconds.
    result.plan.emplace(tables_.ops.size(), 0);
    Follow(whole_.back().trace, *result.plan);
    return result;
  }

 private:
  // False: there were too many points.
  bool Eliminate(int op) {
    const int parent = priced_.buckets()[op].parent;
    Lists out;
    if (parent >= 0) out.scope = ScopeOf(op, parent);
    int64_t count = 1;
    for (const int other : out.scope) {
      out.sizes.push_back(tables_.configs(other));
      count *= tables_.configs(other);
    }
    for (int64_t i = 0; i < count; ++i) {
      int64_t rest = i;
      for (size_t d = out.scope.size(); d-- > 0; rest /= out.sizes[d])
        chosen_[out.scope[d]] = static_cast<int>(rest % out.sizes[d]);
      out.lists.push_back(ListOf(op));
      if (points_ > limits_.most_points) return false;
    }
    waiting_[op].clear();
    if (parent >= 0) {
      waiting_[parent].push_back(std::move(out));
    } else {
      whole_ = Sums(whole_, out.lists[0], 0);
      Thin(whole_, 0);
    }
    return true;
  }

  static std::vector<Factor> EdgesOf(const BucketElimination::Bucket& bucket) {
    std::vector<Factor> edges;
    for (size_t i = 0; i < bucket.factors.size(); ++i) {
      if (bucket.from[i] < 0 && bucket.factors[i].scope.size() == 2) edges.push_back(bucket.factors[i]);
    }
    return edges;
  }

  std::vector<int> ScopeOf(int op, int parent) const {
    const BucketElimination::Bucket& bucket = priced_.buckets()[parent];
    const auto place = std::find(bucket.from.begin(), bucket.from.end(), op) - bucket.from.begin();
    return bucket.factors[place].scope;
  }

  // By the configs `chosen_` of the ops around `op`.
  std::vector<Point> ListOf(int op) {
    const double rest = SumAt(rests_[op], chosen_);
    std::vector<Point> all;
    for (int config = 0; config < tables_.configs(op); ++config) {
      chosen_[op] = config;
      std::vector<Point> points = Start(op, rest);
      for (const Lists& lists : waiting_[op]) {
        points = Sums(points, lists.At(chosen_), rest);
        Thin(points, 0);
      }
      all.insert(all.end(), points.begin(), points.end());
    }
    Thin(all, coarseness_);
    return all;
  }

  // The config of `op` itself, with the edges that it closes.
  std::vector<Point> Start(int op, double rest) {
    const OpTable& table = tables_.ops[op];
    const double seconds = table.seconds[chosen_[op]] + SumAt(edges_[op], chosen_);
    const Point point{seconds, table.bytes[chosen_[op]], static_cast<int>(traces_.size())};
    ++points_;
    if (!Promises(point, rest)) return {};
    traces_.push_back({op, chosen_[op], -1, -1});
    return {point};
  }

  std::vector<Point> Sums(const std::vector<Point>& a, const std::vector<Point>& b, double rest) {
    std::vector<Point> sums;
    points_ += static_cast<double>(a.size()) * static_cast<double>(b.size());
    for (const Point& one : a) {
      for (const Point& two : b) {
        const Point sum{one.seconds + two.seconds, one.bytes + two.bytes, static_cast<int>(traces_.size())};
        if (!Promises(sum, rest)) continue;
        traces_.push_back({-1, 0, one.trace, two.trace});
        sums.push_back(sum);
      }
    }
    return sums;
  }

  // Whether a plan with this part can keep the limits, if all else costs at least `rest` at the price.
  bool Promises(const Point& point, double rest) const {
    if (point.bytes > limits_.bytes || point.seconds == kNever) return false;
    if (limits_.seconds == kNever) return true;
    const double bound = point.seconds + limits_.price * (point.bytes - limits_.bytes) + rest;
    return bound <= limits_.seconds * (1 + kRounding);
  }

  void Follow(int trace, std::vector<int>& plan) const {
    if (trace < 0) return;
    const Trace& step = traces_[trace];
    if (step.op >= 0) plan[step.op] = step.config;
    Follow(step.first, plan);
    Follow(step.second, plan);
  }

  const CostTables& tables_;
  const ParetoLimits& limits_;
  const EliminationOrder& order_;
  const BucketElimination priced_;
  std::vector<std::vector<Factor>> edges_;  // that an op closes: their other ends come later
  std::vector<std::vector<Factor>> rests_;
  std::vector<std::vector<Lists>> waiting_;  // by the op into whose bucket they went
  std::vector<Point> whole_;                 // of the parts of the graph that are done
  std::vector<int> chosen_;
  std::vector<Trace> traces_;
  double coarseness_ = 0;
  double points_ = 0;
};

}  // namespace

ParetoResult ParetoElimination(const CostTables& tables, const EliminationOrder& order, const ParetoLimits& limits) {
  return Run(tables, order, limits).Result();
}

}  // namespace partita
