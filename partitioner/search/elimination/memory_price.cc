#include "partitioner/search/elimination/memory_price.h"

#include <algorithm>
#include <utility>

namespace partita {
namespace {

constexpr int kMostPrices = 40;
constexpr double kNoHigher = 1e-12;  // of a bound, in parts of it

}  // namespace

BucketElimination Priced(const CostTables& tables, const EliminationOrder& order, double price) {
  OpCosts costs;
  for (const OpTable& op : tables.ops) {
    costs.push_back(op.seconds);
    for (size_t i = 0; i < op.bytes.size(); ++i) costs.back()[i] += price * op.bytes[i];
  }
  return BucketElimination(tables, order, costs);
}

// The bound is, by the price, the lowest of the lines `seconds + price * (bytes - limit)` of all plans. Its top is
// where a falling and a rising line meet: there the lowest line either is one of the two, or lies between.
PricedPlan BestPrice(const CostTables& tables, const EliminationOrder& order, const std::vector<int>& fastest,
                     std::vector<int> fits, double bytes) {
  Cost over = CostOf(tables, fastest), under = CostOf(tables, fits);
  PricedPlan best{0, over.seconds, std::move(fits)};
  double fits_seconds = under.seconds;
  for (int i = 0; i < kMostPrices && under.seconds > over.seconds; ++i) {
    const double price = (under.seconds - over.seconds) / (over.bytes - under.bytes);
    const BucketElimination elimination = Priced(tables, order, price);
    const double bound = elimination.Least() - price * bytes;
    const double crossing = over.seconds + price * (over.bytes - bytes);
    if (bound >= best.lower_bound) {
      best.price = price;
      best.lower_bound = bound;
    }
    const std::vector<int> plan = elimination.Configs();
    const Cost cost = CostOf(tables, plan);
    if (cost.bytes <= bytes && cost.seconds < fits_seconds) {
      fits_seconds = cost.seconds;
      best.fits = plan;
    }
    if (bound >= crossing - kNoHigher * crossing) break;
    (cost.bytes <= bytes ? under : over) = cost;
  }
  return best;
}

}  // namespace partita
