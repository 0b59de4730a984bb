// The input of searches: a table of the cost of each op in each of its configs, and of the cost between the configs of
// neighbouring ops. Plans are judged by sums over these tables; none is compiled.
#ifndef PARTITA_PARTITIONER_SEARCH_ELIMINATION_COST_TABLES_H_
#define PARTITA_PARTITIONER_SEARCH_ELIMINATION_COST_TABLES_H_

#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"

namespace partita {

inline constexpr double kNever = std::numeric_limits<double>::infinity();

// Of one op, by its configs (degrees n, c, h, w; the mode of a layer; ...).
struct OpTable {
  std::string op;
  std::vector<std::string> configs;  // for display
  std::vector<double> seconds;       // kNever: the op cannot run so
  std::vector<double> bytes;         // of a device
};

// Seconds from each config of one op (rows) to each of another (columns). Edges of one signature share one.
using EdgeMatrix = std::shared_ptr<const std::vector<double>>;

// Of a value that goes from one op to another; several may join the same two.
struct EdgeTable {
  int from = 0;
  int to = 0;
  EdgeMatrix seconds;
};

struct CostTables {
  std::vector<OpTable> ops;
  std::vector<EdgeTable> edges;

  int configs(int op) const { return static_cast<int>(ops[op].seconds.size()); }
};

// Makes the matrix of a signature (the shapes, windows and configs that decide it) when it is first asked for.
class EdgeMatrices {
 public:
  EdgeMatrix Of(const std::string& signature, const std::function<std::vector<double>()>& make);
  int made() const { return static_cast<int>(by_signature_.size()); }

 private:
  std::map<std::string, EdgeMatrix> by_signature_;
};

struct Cost {
  double seconds = 0;
  double bytes = 0;
};

// Of a config for each op: the sums over ops and edges.
Cost CostOf(const CostTables& tables, const std::vector<int>& configs);

// Names the op or the edge whose sizes do not meet, and numbers that are no costs: below zero or not a number.
absl::Status CheckTables(const CostTables& tables);

}  // namespace partita

#endif  // PARTITA_PARTITIONER_SEARCH_ELIMINATION_COST_TABLES_H_
