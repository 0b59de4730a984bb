// Published measurements of clusters, compared with predictions for the shipped ones (docs/papers.md 14.5).
#ifndef PARTITA_TESTS_PARTITIONER_PAPERS_TABLES_MEASURED_TABLE_H_
#define PARTITA_TESTS_PARTITIONER_PAPERS_TABLES_MEASURED_TABLE_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace partita {

struct GradedPoint {
  std::string what, unit;
  double predicted = 0, measured = 0;
  std::string source;  // the author of the measurement

  double error() const { return predicted / measured - 1; }  // as a share of what was measured
};

absl::StatusOr<std::vector<GradedPoint>> GradeMeasured();

}  // namespace partita

#endif  // PARTITA_TESTS_PARTITIONER_PAPERS_TABLES_MEASURED_TABLE_H_
