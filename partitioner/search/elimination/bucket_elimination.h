// Bucket elimination: the least sum of costs over all configs of all ops, exactly.
//
//   an op is taken out:  t(a, b) = min over its configs c of  t(c) + t(a, c) + t(c, b)     a, b: what it stood next to
//   until none is left; then configs are read in the reverse order.
#ifndef PARTITA_PARTITIONER_SEARCH_ELIMINATION_BUCKET_ELIMINATION_H_
#define PARTITA_PARTITIONER_SEARCH_ELIMINATION_BUCKET_ELIMINATION_H_

#include <vector>

#include "partitioner/search/elimination/cost_tables.h"
#include "partitioner/search/elimination/elimination_order.h"
#include "partitioner/search/elimination/factor.h"

namespace partita {

// By op, by config.
using OpCosts = std::vector<std::vector<double>>;

class BucketElimination {
 public:
  // Of the edges of `tables` and, in place of their ops' seconds, `costs`.
  BucketElimination(const CostTables& tables, const EliminationOrder& order, const OpCosts& costs);

  // The least sum; kNever: none is possible.
  double Least() const { return least_; }

  // Configs with that sum, the first ones where several are equal.
  std::vector<int> Configs() const;

  // For each op, the least that all else costs, by the configs of the ops that stood next to it when it was eliminated:
  // all but what was eliminated into it and itself. `Least` is finite.
  std::vector<std::vector<Factor>> Rests() const;

  // Of each op the factors that were there when it was eliminated; `from`: the op whose elimination left it, -1: a
  // table's.
  struct Bucket {
    std::vector<Factor> factors;
    std::vector<int> from;
    int parent = -1;   // in whose bucket its own result went; -1: it is a constant
    double least = 0;  // that constant
  };
  const std::vector<Bucket>& buckets() const { return buckets_; }

  // For each config of each op by how much the least sum with this config is above the least of all. kNever: this
  // config has no sum.
  OpCosts Regrets() const;

 private:
  std::vector<Factor> RestOf(int op, const std::vector<std::vector<Factor>>& rests) const;

  EliminationOrder order_;
  ConfigCounts configs_;
  std::vector<Bucket> buckets_;  // by op
  double least_ = 0;
};

}  // namespace partita

#endif  // PARTITA_PARTITIONER_SEARCH_ELIMINATION_BUCKET_ELIMINATION_H_
