#include "partitioner/search/layerwise_search.h"

#include "partitioner/search/elimination/bucket_elimination.h"
#include "partitioner/search/elimination/elimination_order.h"
#include "partitioner/search/limited_search.h"
#include "partitioner/search/neighbours.h"
#include "runtime/base/status.h"

namespace partita {
namespace {

constexpr int kWidest = 4;
constexpr double kMostEntries = 1 << 28;

absl::StatusOr<EliminationOrder> OrderOf(const CostTables& tables) {
  const EliminationOrder order = MinFillOrder(tables);
  if (order.width <= kWidest && order.entries <= kMostEntries) return order;
  return ResourceExhausted(
      "the layer-wise search would eliminate op '{}' from {} others by a table of up to {:.3g} entries: it takes at "
      "most {} others and {:.3g} entries, and has no bound for more",
      tables.ops[order.widest].op, order.width, order.entries, kWidest, kMostEntries);
}

OpCosts SecondsOf(const CostTables& tables) {
  OpCosts costs;
  for (const OpTable& op : tables.ops) costs.push_back(op.seconds);
  return costs;
}

}  // namespace

absl::StatusOr<Answer<Configs>> LayerwiseSearch(const CostTables& tables, double bytes) {
  RETURN_IF_ERROR(CheckTables(tables));
  ASSIGN_OR_RETURN(const EliminationOrder order, OrderOf(tables));
  const BucketElimination elimination(tables, order, SecondsOf(tables));
  if (elimination.Least() == kNever) return InvalidArgument("no config of all {} ops is possible", tables.ops.size());
  Answer<Configs> answer;
  answer.plan = elimination.Configs();
  const Cost cost = CostOf(tables, answer.plan);
  if (cost.bytes <= bytes) {
    answer.seconds = answer.lower_bound = cost.seconds;
    answer.bytes = cost.bytes;
  } else {
    ASSIGN_OR_RETURN(answer, LimitedSearch(tables, order, answer.plan, bytes));
  }
  answer.rejected = Neighbours(tables, answer.plan, bytes);
  return answer;
}

}  // namespace partita
