#include "tests/partitioner/search/random_tables.h"

#include <memory>
#include <string>
#include <utility>

namespace partita {
namespace {

int Below(std::mt19937& random, int bound) { return static_cast<int>(random() % bound); }

std::vector<double> Numbers(std::mt19937& random, int count, bool all_possible) {
  std::vector<double> numbers;
  for (int i = 0; i < count; ++i)
    numbers.push_back(!all_possible && Below(random, 12) == 0 ? kNever : Below(random, 40));
  return numbers;
}

}  // namespace

CostTables RandomTables(std::mt19937& random, int most_ops, int most_configs) {
  CostTables tables;
  const int ops = 1 + Below(random, most_ops);
  for (int op = 0; op < ops; ++op) {
    const int configs = 1 + Below(random, most_configs);
    OpTable table{"op" + std::to_string(op), {}, Numbers(random, configs, false), Numbers(random, configs, true)};
    for (int config = 0; config < configs; ++config) table.configs.push_back("c" + std::to_string(config));
    tables.ops.push_back(std::move(table));
  }
  for (int edges = ops == 1 ? 0 : Below(random, 2 * ops); edges > 0; --edges) {
    const int from = Below(random, ops - 1), to = from + 1 + Below(random, ops - from - 1);
    const int entries = tables.configs(from) * tables.configs(to);
    tables.edges.push_back({from, to, std::make_shared<const std::vector<double>>(Numbers(random, entries, false))});
  }
  return tables;
}

Cost BruteForce(const CostTables& tables, double bytes) {
  Cost best{kNever, kNever};
  std::vector<int> plan(tables.ops.size(), 0);
  for (;;) {
    const Cost cost = CostOf(tables, plan);
    if (cost.bytes <= bytes && cost.seconds < best.seconds) best = cost;
    size_t op = 0;
    for (; op < plan.size() && ++plan[op] == tables.configs(static_cast<int>(op)); ++op) plan[op] = 0;
    if (op == plan.size()) return best;
  }
}

}  // namespace partita
