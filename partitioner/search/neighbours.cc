#include "partitioner/search/neighbours.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>

namespace partita {
namespace {

struct Change {
  int op = 0;
  int config = 0;
  double op_seconds = 0;  // more than now
  double edge_seconds = 0;
  double bytes = 0;

  double seconds() const { return op_seconds + edge_seconds; }
};

class Changes {
 public:
  Changes(const CostTables& tables, const std::vector<int>& configs) : tables_(tables), configs_(configs) {
    edges_.resize(tables.ops.size());
    for (const EdgeTable& edge : tables.edges) {
      edges_[edge.from].push_back(&edge);
      edges_[edge.to].push_back(&edge);
    }
  }

  std::vector<Change> All() const {
    std::vector<Change> changes;
    for (int op = 0; op < static_cast<int>(configs_.size()); ++op) {
      for (int config = 0; config < tables_.configs(op); ++config) {
        if (config != configs_[op]) changes.push_back(Of(op, config));
      }
    }
    return changes;
  }

 private:
  Change Of(int op, int config) const {
    const OpTable& table = tables_.ops[op];
    const int now = configs_[op];
    return {op, config, table.seconds[config] - table.seconds[now], EdgeSeconds(op, config) - EdgeSeconds(op, now),
            table.bytes[config] - table.bytes[now]};
  }

  double EdgeSeconds(int op, int config) const {
    double seconds = 0;
    for (const EdgeTable* edge : edges_[op]) {
      const int64_t row = edge->from == op ? config : configs_[edge->from];
      const int64_t column = edge->to == op ? config : configs_[edge->to];
      seconds += (*edge->seconds)[row * tables_.configs(edge->to) + column];
    }
    return seconds;
  }

  const CostTables& tables_;
  const std::vector<int>& configs_;
  std::vector<std::vector<const EdgeTable*>> edges_;
};

std::string ReasonOf(const Change& change, double bytes_over) {
  if (bytes_over > 0) return fmt::format("does not fit: {:.6g} bytes over the limit", bytes_over);
  if (change.seconds() == 0) return "as fast";
  return fmt::format("slower by {:.4g} us: the op by {:.4g}, its edges by {:.4g}", 1e6 * change.seconds(),
                     1e6 * change.op_seconds, 1e6 * change.edge_seconds);
}

}  // namespace

std::vector<Rejected> Neighbours(const CostTables& tables, const std::vector<int>& configs, double bytes, int count) {
  const Cost cost = CostOf(tables, configs);
  std::vector<Change> changes = Changes(tables, configs).All();
  std::stable_sort(changes.begin(), changes.end(),
                   [](const Change& a, const Change& b) { return a.seconds() < b.seconds(); });
  std::vector<Rejected> rejected;
  for (const Change& change : changes) {
    const double over = cost.bytes + change.bytes - bytes;
    const bool faster_and_fits = change.seconds() < 0 && over <= 0;  // of an answer with a gap: not the best
    if (change.seconds() == kNever || faster_and_fits || static_cast<int>(rejected.size()) == count) continue;
    const OpTable& op = tables.ops[change.op];
    rejected.push_back(
        {fmt::format("{}: {} in place of {}", op.op, op.configs[change.config], op.configs[configs[change.op]]),
         cost.seconds + change.seconds(), cost.bytes + change.bytes, ReasonOf(change, over)});
  }
  return rejected;
}

}  // namespace partita
