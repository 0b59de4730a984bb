#include "partitioner/search/elimination/elimination_order.h"

#include <algorithm>
#include <set>
#include <tuple>

namespace partita {
namespace {

class Neighbourhood {
 public:
  explicit Neighbourhood(const CostTables& tables) : tables_(tables), of_(tables.ops.size()) {
    for (const EdgeTable& edge : tables.edges) Join(edge.from, edge.to);
  }

  // The fewer the better: pairs to be joined, entries of the table, place in the graph.
  std::tuple<int, double, int> Price(int op) const { return {Fill(op), Entries(op), op}; }

  int Width(int op) const { return static_cast<int>(of_[op].size()); }

  // Of the largest table that its elimination needs.
  double Entries(int op) const {
    double entries = tables_.configs(op);
    for (const int neighbour : of_[op]) entries *= tables_.configs(neighbour);
    return entries;
  }

  void Eliminate(int op) {
    const std::set<int> neighbours = of_[op];
    for (const int a : neighbours) {
      of_[a].erase(op);
      for (const int b : neighbours) {
        if (a < b) Join(a, b);
      }
    }
  }

 private:
  void Join(int a, int b) {
    of_[a].insert(b);
    of_[b].insert(a);
  }

  int Fill(int op) const {
    int fill = 0;
    for (const int a : of_[op]) {
      for (const int b : of_[op]) fill += a < b && of_[a].count(b) == 0;
    }
    return fill;
  }

  const CostTables& tables_;
  std::vector<std::set<int>> of_;
};

}  // namespace

EliminationOrder MinFillOrder(const CostTables& tables) {
  Neighbourhood neighbourhood(tables);
  EliminationOrder order;
  std::set<int> left;
  for (size_t op = 0; op < tables.ops.size(); ++op) left.insert(static_cast<int>(op));
  while (!left.empty()) {
    const int op = *std::min_element(left.begin(), left.end(),
                                     [&](int a, int b) { return neighbourhood.Price(a) < neighbourhood.Price(b); });
    if (neighbourhood.Width(op) > order.width) {
      order.width = neighbourhood.Width(op);
      order.widest = op;
    }
    order.entries = std::max(order.entries, neighbourhood.Entries(op));
    order.ops.push_back(op);
    neighbourhood.Eliminate(op);
    left.erase(op);
  }
  return order;
}

}  // namespace partita
