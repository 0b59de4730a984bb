#include "partitioner/search/limited_search.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "partitioner/search/elimination/bucket_elimination.h"
#include "partitioner/search/elimination/memory_price.h"
#include "runtime/base/status.h"

namespace partita {
namespace {

constexpr double kCoarseness = 0.005;
constexpr double kRounding = 1e-9;

// The plan of the fewest bytes among those that are possible.
std::vector<int> Smallest(const CostTables& tables, const EliminationOrder& order) {
  CostTables possible = tables;
  OpCosts bytes;
  for (const OpTable& op : tables.ops) {
    bytes.push_back(op.bytes);
    for (size_t i = 0; i < op.bytes.size(); ++i) bytes.back()[i] = op.seconds[i] == kNever ? kNever : op.bytes[i];
  }
  for (EdgeTable& edge : possible.edges) {
    std::vector<double> free = *edge.seconds;
    for (double& seconds : free) seconds = seconds == kNever ? kNever : 0;
    edge.seconds = std::make_shared<const std::vector<double>>(std::move(free));
  }
  return BucketElimination(possible, order, bytes).Configs();
}

// The tables without some of the configs, and which ones are left.
struct Narrowed {
  CostTables tables;
  std::vector<std::vector<int>> kept;  // by op

  std::vector<int> Named(std::vector<int> configs) const {
    for (size_t op = 0; op < configs.size(); ++op) configs[op] = kept[op][configs[op]];
    return configs;
  }
};

template <typename T>
std::vector<T> Only(const std::vector<T>& values, const std::vector<int>& kept) {
  std::vector<T> only;
  for (const int i : kept) only.push_back(values[i]);
  return only;
}

Narrowed Narrow(const CostTables& tables, const OpCosts& regrets, double most) {
  Narrowed narrowed;
  for (size_t op = 0; op < tables.ops.size(); ++op) {
    std::vector<int> kept;
    for (int config = 0; config < tables.configs(static_cast<int>(op)); ++config) {
      if (regrets[op][config] <= most) kept.push_back(config);
    }
    const OpTable& table = tables.ops[op];
    narrowed.tables.ops.push_back(
        {table.op, Only(table.configs, kept), Only(table.seconds, kept), Only(table.bytes, kept)});
    narrowed.kept.push_back(std::move(kept));
  }
  for (const EdgeTable& edge : tables.edges) {
    std::vector<double> seconds;
    for (const int row : narrowed.kept[edge.from]) {
      const double* from = edge.seconds->data() + static_cast<int64_t>(row) * tables.configs(edge.to);
      for (const int column : narrowed.kept[edge.to]) seconds.push_back(from[column]);
    }
    narrowed.tables.edges.push_back(
        {edge.from, edge.to, std::make_shared<const std::vector<double>>(std::move(seconds))});
  }
  return narrowed;
}

}  // namespace

absl::StatusOr<Answer<std::vector<int>>> LimitedSearch(const CostTables& tables, const EliminationOrder& order,
                                                       const std::vector<int>& fastest, double bytes,
                                                       double most_points) {
  const std::vector<int> smallest = Smallest(tables, order);
  if (const double least = CostOf(tables, smallest).bytes; least > bytes)
    return ResourceExhausted("no plan fits {:.0f} bytes: the smallest needs {:.0f}", bytes, least);
  PricedPlan priced = BestPrice(tables, order, fastest, smallest, bytes);
  Answer<std::vector<int>> answer{{CostOf(tables, priced.fits).seconds, 0, priced.lower_bound, {}}, priced.fits};
  const double most = (answer.seconds - priced.lower_bound) + kRounding * answer.seconds;
  const Narrowed narrowed = Narrow(tables, Priced(tables, order, priced.price).Regrets(), most);
  for (const double coarseness : {0.0, kCoarseness}) {
    const ParetoResult found =
        ParetoElimination(narrowed.tables, order, {bytes, answer.seconds, priced.price, coarseness, most_points});
    if (!found.finished) continue;
    if (found.plan && CostOf(narrowed.tables, *found.plan).seconds < answer.seconds)
      answer.plan = narrowed.Named(*found.plan);
    answer.seconds = CostOf(tables, answer.plan).seconds;
    answer.lower_bound = std::min(answer.seconds, std::max(answer.lower_bound, answer.seconds / (1 + coarseness)));
    break;
  }
  answer.bytes = CostOf(tables, answer.plan).bytes;
  return answer;
}

}  // namespace partita
