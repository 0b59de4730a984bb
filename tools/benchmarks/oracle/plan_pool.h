// Plans of a network that are compared beside those that searches find, and which of many are compared.
#ifndef PARTITA_TOOLS_BENCHMARKS_ORACLE_PLAN_POOL_H_
#define PARTITA_TOOLS_BENCHMARKS_ORACLE_PLAN_POOL_H_

#include <cstddef>
#include <string>
#include <vector>

#include "graph/derive/strategy.h"
#include "graph/ir/graph.h"

namespace partita {

struct NamedPlan {
  std::string name;  // for display
  Strategy strategy;
};

// --dp and --mp in all ways to cut the ranks, with convolutions by channels, rows and samples; replicas in
// micro-batches and with unequal shares of the batch; all of it on every rank. Not all of them need compile.
std::vector<NamedPlan> PlanPool(const Graph& forward, int ranks);

// Of rising seconds as many as asked for, `kept` among them, so that each takes longer than the one before it by the
// largest factor that can be had of all; of fewer all. Indices, rising.
std::vector<size_t> FurthestApart(const std::vector<double>& seconds, size_t kept, size_t count);

}  // namespace partita

#endif  // PARTITA_TOOLS_BENCHMARKS_ORACLE_PLAN_POOL_H_
