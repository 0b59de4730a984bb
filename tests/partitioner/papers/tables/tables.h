// The tables of docs/papers.md: what each paper's formulas give, and what others measured beside what is predicted.
#ifndef PARTITA_TESTS_PARTITIONER_PAPERS_TABLES_TABLES_H_
#define PARTITA_TESTS_PARTITIONER_PAPERS_TABLES_TABLES_H_

#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "partitioner/cluster/cluster.h"
#include "tests/partitioner/papers/layers.h"
#include "partitioner/cost/time_to_accuracy.h"

namespace partita {

// Sizes that a table is printed for; 0: those of the paper.
struct TableSizes {
  int ranks = 0;      // P
  int64_t batch = 0;  // B, global
};

struct PaperTable {
  std::string name;
  std::string summary;  // one line: the paper and the content
  bool takes_ranks = false, takes_batch = false;
  // kInvalidArgument: the table has no row for these sizes.
  std::function<absl::StatusOr<std::string>(const TableSizes& sizes)> print;
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
PaperTable MeasuredTable();    // measured_table.cc
PaperTable PlacementsTable();  // placement_table.cc

// For 1, 2, 4, ... replicas up to this number of devices: compares more replicas with larger ones, and finds where
// larger ones are faster. kInvalidArgument: the curve does not reach that far.
struct TippingOptions {
  int split = 2;       // devices of a larger replica
  double speedup = 1;  // of its step
  int64_t batch = 1;   // of a device, or of a larger replica
  int most_devices = 2;
};
absl::StatusOr<std::string> FormatTipping(const EpochCurve& curve, const TippingOptions& options);

// In how many equal parts `count` things can be divided: its divisors, ascending.
std::vector<int> DivisorsOf(int count);

// The layers of a shipped network, of one sample.
absl::StatusOr<std::vector<Layer>> LayersOfShipped(const std::string& model);

}  // namespace partita

#endif  // PARTITA_TESTS_PARTITIONER_PAPERS_TABLES_TABLES_H_
