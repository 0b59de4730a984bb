// Who touched which bytes last, while launches are visited in program order.
#ifndef PARTITA_GRAPH_BYTE_HISTORY_H_
#define PARTITA_GRAPH_BYTE_HISTORY_H_

#include <cstdint>
#include <vector>

#include "absl/container/btree_map.h"
#include "graph/schedule.h"

namespace partita {

// Bytes are kept in runs with equal history; each holds its last writer and, per stream, the last reader since then. So
// a visit costs the logarithm of the number of runs and the runs it meets; a write makes one run of them.
class ByteHistory {
 public:
  explicit ByteHistory(int streams) : streams_(streams) {}

  // Calls conflict(earlier launch) for the last writer of each run in `range`, and for a write also for its last
  // readers; then takes the access by `launch` on `stream` into the history.
  template <typename Conflict>
  void Touch(const Access& access, int launch, int stream, const Conflict& conflict) {
    const int64_t begin = access.range.offset;
    const int64_t end = begin + access.range.bytes;
    SplitAt(begin);
    SplitAt(end);
    FillGaps(begin, end);
    for (auto run = runs_.lower_bound(begin); run != runs_.end() && run->first < end; ++run) {
      if (run->second.writer >= 0) conflict(run->second.writer);
      if (!access.write) {
        run->second.SetReader(stream, launch, streams_);
        continue;
      }
      for (int reader : run->second.readers) {
        if (reader >= 0) conflict(reader);
      }
    }
    if (access.write) Overwrite(begin, end, launch);
  }

 private:
  struct Run {
    int64_t end = 0;
    int writer = -1;
    std::vector<int> readers;  // by stream; -1: none; empty: none at all

    void SetReader(int stream, int launch, int streams) {
      if (readers.empty()) readers.assign(streams, -1);
      readers[stream] = launch;
    }
  };

  void SplitAt(int64_t offset);
  void FillGaps(int64_t begin, int64_t end);
  void Overwrite(int64_t begin, int64_t end, int writer);

  int streams_;
  absl::btree_map<int64_t, Run> runs_;  // by first byte
};

}  // namespace partita

#endif  // PARTITA_GRAPH_BYTE_HISTORY_H_
