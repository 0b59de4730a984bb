#include "tests/partitioner/papers/tables/tables.h"

#include "ops/registry.h"
#include "runtime/base/status.h"
#include "tools/models/models.h"

namespace partita {

const std::vector<PaperTable>& Tables() {
  static const auto& tables = *new std::vector<PaperTable>{GridTable(),       HaloTable(),      GroupsTable(),
                                                           NcclTable(),       LayerwiseTable(), TippingTable(),
                                                           StrategiesTable(), MeasuredTable(),  PlacementsTable()};
  return tables;
}

std::vector<int> DivisorsOf(int count) {
  std::vector<int> divisors;
  for (int divisor = 1; divisor <= count; ++divisor) {
    if (count % divisor == 0) divisors.push_back(divisor);
  }
  return divisors;
}

absl::StatusOr<std::vector<Layer>> LayersOfShipped(const std::string& model) {
  ModelOptions options;
  options.batch = 1;
  ASSIGN_OR_RETURN(const Model made, MakeModel(model, options, Ops()));
  return LayersOf(made.graph);
}

}  // namespace partita
