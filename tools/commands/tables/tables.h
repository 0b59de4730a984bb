// The tables of docs/papers.md that are reckoned from closed forms: what each paper's formulas give.
#ifndef PARTITA_TOOLS_COMMANDS_TABLES_TABLES_H_
#define PARTITA_TOOLS_COMMANDS_TABLES_TABLES_H_

#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "partitioner/papers/layers.h"

namespace partita {

struct PaperTable {
  std::string name;
  std::string summary;  // one line: the paper, and what is told
  std::function<absl::StatusOr<std::string>()> print;
};

// In the order of docs/papers.md.
const std::vector<PaperTable>& Tables();

PaperTable GridTable();        // grid_table.cc
PaperTable HaloTable();        // halo_table.cc
PaperTable GroupsTable();      // groups_table.cc
PaperTable NcclTable();        // nccl_table.cc
PaperTable LayerwiseTable();   // layerwise_table.cc
PaperTable TippingTable();     // tipping_table.cc
PaperTable StrategiesTable();  // strategies_table.cc

// The layers of a shipped network, of one sample.
absl::StatusOr<std::vector<Layer>> LayersOfShipped(const std::string& model);

}  // namespace partita

#endif  // PARTITA_TOOLS_COMMANDS_TABLES_TABLES_H_
