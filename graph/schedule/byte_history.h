// Who touched which bytes last, while launches are visited in program order.
#ifndef PARTITA_GRAPH_SCHEDULE_BYTE_HISTORY_H_
#define PARTITA_GRAPH_SCHEDULE_BYTE_HISTORY_H_

#include <cstdint>
#include <vector>

#include "graph/schedule/byte_cells.h"
#include "graph/schedule/schedule.h"

namespace partita {

// Of every byte its last writer and, per stream, the last reader since then. A visit costs the logarithm of the number
// of runs of bytes with equal history, and the runs it meets; a write makes one run of them.
class ByteHistory {
 public:
  explicit ByteHistory(int streams) : streams_(streams) {}

  // Calls conflict(earlier launch) for the last writer of each run in the access's range, and for a write also for its
  // last readers; then takes the access by `launch` on `stream` into the history.
  template <typename Conflict>
  void Touch(const Access& access, int launch, int stream, const Conflict& conflict) {
    const auto [first, stop] = runs_.Cut(access.range);
    for (auto run = first; run != stop; ++run) {
      if (run->second.writer >= 0) conflict(run->second.writer);
      if (!access.write) {
        run->second.SetReader(stream, launch, streams_);
        continue;
      }
      for (int reader : run->second.readers) {
        if (reader >= 0) conflict(reader);
      }
    }
    if (access.write) runs_.Replace(first, stop, {launch, {}});
  }

 private:
  struct Run {
    int writer = -1;
    std::vector<int> readers;  // by stream; -1: none; empty: none at all

    void SetReader(int stream, int launch, int streams) {
      if (readers.empty()) readers.assign(streams, -1);
      readers[stream] = launch;
    }
  };

  int streams_;
  ByteCells<Run> runs_;
};

}  // namespace partita

#endif  // PARTITA_GRAPH_SCHEDULE_BYTE_HISTORY_H_
