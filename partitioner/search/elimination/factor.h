// Costs by the configs of a few ops: a table with a dimension for each, row by row, the last one dense.
#ifndef PARTITA_PARTITIONER_SEARCH_ELIMINATION_FACTOR_H_
#define PARTITA_PARTITIONER_SEARCH_ELIMINATION_FACTOR_H_

#include <cstdint>
#include <memory>
#include <vector>

namespace partita {

struct Factor {
  std::vector<int> scope;  // ops, none twice
  std::vector<int> sizes;  // their configs
  std::shared_ptr<const std::vector<double>> entries;

  bool Has(int op) const;
  // What is to be added to an index for the next config of `op`; 0: the factor does not know the op.
  int64_t Stride(int op) const;
};

// How many configs each of all ops has.
using ConfigCounts = std::vector<int>;

// The factor over `scope` that is the sum of `factors`, whose scopes are parts of it.
Factor Sum(const std::vector<Factor>& factors, std::vector<int> scope, const ConfigCounts& configs);

// The factor over all other ops of `factors` that is, for each of their configs, the least sum by the configs of `op`.
// All factors have `op`.
Factor MinimumOver(int op, const std::vector<Factor>& factors, const ConfigCounts& configs);

// The sum of `factors` at these configs of all ops.
double SumAt(const std::vector<Factor>& factors, const std::vector<int>& chosen);

}  // namespace partita

#endif  // PARTITA_PARTITIONER_SEARCH_ELIMINATION_FACTOR_H_
