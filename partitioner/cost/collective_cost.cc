#include "partitioner/cost/collective_cost.h"

#include <bit>

namespace partita {
namespace {

// Messages one after the other, and times that all bytes pass a rank's link.
struct Work {
  double messages = 0, passes = 0;
};

double CeilLog2(int n) { return std::bit_width(static_cast<unsigned>(n - 1)); }

Work WorkOfRing(Collective collective, int n) {
  const double rounds = n - 1, share = rounds / n;
  switch (collective) {
    case Collective::kAllReduce:
      return {2 * rounds, 2 * share};
    case Collective::kAllGather:
    case Collective::kReduceScatter:
    case Collective::kAllToAll:
      return {rounds, share};
    case Collective::kBroadcast:
    case Collective::kReduce:
      return {rounds, 1};
  }
  return {};
}

Work WorkOfTree(Collective collective, int n) {
  if (collective == Collective::kAllReduce) return {2 * CeilLog2(n), 2};
  if (collective == Collective::kBroadcast || collective == Collective::kReduce) return {CeilLog2(n), 1};
  return WorkOfRing(collective, n);
}

Work WorkOfRecursion(Collective collective, int n) {
  const double rounds = CeilLog2(n), share = (n - 1.0) / n;
  switch (collective) {
    case Collective::kAllReduce:
      return {2 * rounds, 2 * share};
    case Collective::kAllGather:
    case Collective::kReduceScatter:
      return {rounds, share};
    case Collective::kBroadcast:  // a binomial tree: whole messages
    case Collective::kReduce:
      return {rounds, rounds};
    case Collective::kAllToAll:
      return WorkOfRing(collective, n);
  }
  return {};
}

Work WorkOf(Collective collective, CollectiveForm form, int n) {
  switch (form) {
    case CollectiveForm::kRing:
      return WorkOfRing(collective, n);
    case CollectiveForm::kTree:
      return WorkOfTree(collective, n);
    case CollectiveForm::kRecursive:
      return WorkOfRecursion(collective, n);
  }
  return {};
}

}  // namespace

const char* Name(Collective collective) {
  switch (collective) {
    case Collective::kAllReduce:
      return "all_reduce";
    case Collective::kAllGather:
      return "all_gather";
    case Collective::kReduceScatter:
      return "reduce_scatter";
    case Collective::kBroadcast:
      return "broadcast";
    case Collective::kReduce:
      return "reduce";
    case Collective::kAllToAll:
      return "all_to_all";
  }
  return "?";
}

double CollectiveSeconds(Collective collective, CollectiveForm form, double bytes, int ranks, const AlphaBeta& link) {
  if (ranks <= 1) return 0;
  const Work work = WorkOf(collective, form, ranks);
  return work.messages * link.alpha + work.passes * bytes * link.beta;
}

}  // namespace partita
