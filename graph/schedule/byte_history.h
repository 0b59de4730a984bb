// Records which launch touched which bytes last, while launches are visited in program order.
#ifndef PARTITA_GRAPH_SCHEDULE_BYTE_HISTORY_H_
#define PARTITA_GRAPH_SCHEDULE_BYTE_HISTORY_H_

#include <cstdint>
#include <iterator>
#include <vector>

#include "graph/schedule/byte_cells.h"
#include "graph/schedule/byte_columns.h"
#include "graph/schedule/schedule.h"

namespace partita {

// Of every byte its last writer and, per stream, the last reader since then; of columns a few more. A visit costs the
// logarithm of the number of runs of bytes with equal history, and the runs it meets; a write makes one run of them.
class ByteHistory {
 public:
  explicit ByteHistory(int streams) : streams_(streams) {}

  // Calls conflict(earlier launch) for the last writer of each run in the access's range, and for a write also for its
  // last readers; then takes the access by `launch` on `stream` into the history.
  template <typename Conflict>
  void Touch(const Access& access, int launch, int stream, const Conflict& conflict) {
    const auto [first, stop] = runs_.Cut(access.range);
    for (auto run = first; run != stop; ++run) {
      const auto next = std::next(run);
      const int64_t end = next == stop ? access.end() : next->first;
      if (!access.columns.MeetsRange(run->first, end)) continue;
      run->second.Report(access, run->first, end, conflict);
      if (!access.columns.all()) {
        run->second.AddColumns(access, launch, stream);
      } else if (!access.write) {
        run->second.SetReader(stream, launch, streams_);
      }
    }
    if (access.write && access.columns.all()) runs_.Replace(first, stop, {launch, {}, {}});
  }

 private:
  struct ColumnAccess {
    ByteColumns columns;
    bool write = false;
    int launch = -1;
    int stream = 0;
  };

  struct Run {
    int writer = -1;
    std::vector<int> readers;           // by stream; -1: none; empty: none at all
    std::vector<ColumnAccess> columns;  // since the writer

    template <typename Conflict>
    void Report(const Access& access, int64_t begin, int64_t end, const Conflict& conflict) const {
      if (writer >= 0) conflict(writer);
      for (const ColumnAccess& earlier : columns) {
        if (!access.write && !earlier.write) continue;
        if (!Apart(access.columns, earlier.columns, begin, end)) conflict(earlier.launch);
      }
      if (!access.write) return;
      for (int reader : readers) {
        if (reader >= 0) conflict(reader);
      }
    }

    void SetReader(int stream, int launch, int streams) {
      if (readers.empty()) readers.assign(streams, -1);
      readers[stream] = launch;
    }

    // A write comes after all that touched the same columns, a read after those of its stream.
    void AddColumns(const Access& access, int launch, int stream) {
      std::erase_if(columns, [&](const ColumnAccess& earlier) {
        if (earlier.columns != access.columns) return false;
        return access.write || (!earlier.write && earlier.stream == stream);
      });
      columns.push_back({access.columns, access.write, launch, stream});
    }
  };

  int streams_;
  ByteCells<Run> runs_;
};

}  // namespace partita

#endif  // PARTITA_GRAPH_SCHEDULE_BYTE_HISTORY_H_
