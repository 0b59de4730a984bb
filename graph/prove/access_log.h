// Records which launch touched which bytes last, over two consecutive steps: finds races and reads of bytes that no
// launch wrote.
#ifndef PARTITA_GRAPH_PROVE_ACCESS_LOG_H_
#define PARTITA_GRAPH_PROVE_ACCESS_LOG_H_

#include <string>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/status/status.h"
#include "graph/prove/happens_before.h"
#include "graph/schedule/byte_cells.h"
#include "graph/schedule/byte_columns.h"
#include "graph/schedule/schedule.h"

namespace partita {

// "3 'conv' (stream 0)"
std::string DescribeLaunch(const Schedule& schedule, int launch);

// The last accesses of every byte. Launches of the second step carry on the numbers of the first.
class AccessLog {
 public:
  // At first the states and their rounded copies are written.
  AccessLog(const Schedule& schedule, const HappensBefore& ordered);

  // Launches come in program order, what one reads before what it writes. kInternal names what is not ordered with an
  // earlier access, or was never written, and its bytes.
  absl::Status Add(const Access& access, int launch);

 private:
  static constexpr int kBeforeTheSteps = -1;
  static constexpr int kNobody = -2;

  struct ColumnAccess {
    ByteColumns columns;
    bool write = false;
    int launch = -1;
  };

  struct Cell {
    int writer = kNobody;
    absl::InlinedVector<int, 2> readers;     // since then, the last of each stream
    std::vector<ColumnAccess> columns = {};  // since then: what touched columns alone
  };

  void BeginWith(const Placement& state);
  static bool ColumnsAreWritten(const Cell& cell, const ByteColumns& wanted, const ByteRange& bytes);

  int StreamOf(int launch) const { return ordered_.stream(launch); }
  bool Ordered(int before, int after) const { return before == after || ordered_.Holds(before, after); }
  absl::Status Check(const Cell& cell, const Access& access, int launch, const ByteRange& common) const;
  absl::Status CheckColumns(const Cell& cell, const Access& access, int launch, const ByteRange& common) const;
  absl::Status Race(int first, const char* does, const Access& access, int launch, const ByteRange& common) const;
  std::string At(int launch) const;
  void AddReader(Cell& cell, int launch) const;
  void AddColumns(Cell& cell, const Access& access, int launch) const;

  const Schedule& schedule_;
  const HappensBefore& ordered_;
  ByteCells<Cell> cells_;
};

}  // namespace partita

#endif  // PARTITA_GRAPH_PROVE_ACCESS_LOG_H_
