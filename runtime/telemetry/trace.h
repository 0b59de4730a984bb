// A timeline as a file for Perfetto (ui.perfetto.dev) and chrome://tracing.
//
// One process per rank and one thread per stream, named; one slice ("X") per span. Predicted and measured timelines are
// written alike, so that one can be laid on the other.
#ifndef PARTITA_RUNTIME_TELEMETRY_TRACE_H_
#define PARTITA_RUNTIME_TELEMETRY_TRACE_H_

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"

namespace partita {

// What ran from `begin_ns` for `duration_ns`; `name` is an index into the names, which most spans share.
struct TraceSpan {
  int32_t name = 0;
  int64_t begin_ns = 0;
  int64_t duration_ns = 0;
};

// Spans of one stream must not overlap in part, as a stream runs one thing after the other; any order.
struct TraceStream {
  std::string name;      // "compute", "communication"
  std::string category;  // of all its spans: what the viewer filters by
  std::vector<TraceSpan> spans;
};

struct TraceRank {
  int64_t rank = 0;
  std::vector<TraceStream> streams;
};

// Times appear in microseconds since the earliest span of all, with the nanoseconds kept. kInvalidArgument or
// kResourceExhausted from writing the file (runtime/base/files.h); a name's index out of range is a bug (CHECK).
absl::Status WriteChromeTrace(const std::string& path, std::span<const TraceRank> ranks,
                              std::span<const std::string> names);

}  // namespace partita

#endif  // PARTITA_RUNTIME_TELEMETRY_TRACE_H_
