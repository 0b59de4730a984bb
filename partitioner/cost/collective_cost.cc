#include "partitioner/cost/collective_cost.h"

#include <bit>

namespace partita {
namespace {

// Messages one after the other, and times that all bytes pass a rank's link.
struct Work {
  double messages = 0, passes = 0;
};

double CeilLog2(int n) { return std::bit_width(static_cast<unsigned>(n - 1)); }

Work WorkOfRing(CollectiveKind collective, int n) {
  const double rounds = n - 1, share = rounds / n;
  switch (collective) {
    case CollectiveKind::kAllReduce:
      return {2 * rounds, 2 * share};
    case CollectiveKind::kAllGather:
    case CollectiveKind::kReduceScatter:
    case CollectiveKind::kAllToAll:
      return {rounds, share};
    case CollectiveKind::kBroadcast:
    case CollectiveKind::kReduce:
      return {rounds, 1};
  }
  return {};
}

Work WorkOfTree(CollectiveKind collective, int n) {
  if (collective == CollectiveKind::kAllReduce) return {2 * CeilLog2(n), 2};
  if (collective == CollectiveKind::kBroadcast || collective == CollectiveKind::kReduce) return {CeilLog2(n), 1};
  return WorkOfRing(collective, n);
}

Work WorkOfRecursion(CollectiveKind collective, int n) {
  const double rounds = CeilLog2(n), share = (n - 1.0) / n;
  switch (collective) {
    case CollectiveKind::kAllReduce:
      return {2 * rounds, 2 * share};
    case CollectiveKind::kAllGather:
    case CollectiveKind::kReduceScatter:
      return {rounds, share};
    case CollectiveKind::kBroadcast:  // a binomial tree: whole messages
    case CollectiveKind::kReduce:
      return {rounds, rounds};
    case CollectiveKind::kAllToAll:
      return WorkOfRing(collective, n);
  }
  return {};
}

Work WorkOf(CollectiveKind collective, CollectiveForm form, int n) {
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

std::optional<CollectiveKind> FindCollective(const std::string& name) {
  for (const CollectiveKind kind : kCollectives) {
    if (name == Name(kind)) return kind;
  }
  return std::nullopt;
}

double CollectiveSeconds(CollectiveKind collective, CollectiveForm form, double bytes, int ranks,
                         const AlphaBeta& link) {
  if (ranks <= 1) return 0;
  const Work work = WorkOf(collective, form, ranks);
  return work.messages * link.alpha + work.passes * bytes * link.beta;
}

}  // namespace partita
