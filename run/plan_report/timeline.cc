#include "run/plan_report/timeline.h"

#include <unordered_map>

#include "runtime/telemetry/trace.h"

namespace partita {
namespace {

// Names of spans, each once.
class Names {
 public:
  int32_t IndexOf(const std::string& name) {
    const auto [found, is_new] = index_.emplace(name, static_cast<int32_t>(names_.size()));
    if (is_new) names_.push_back(name);
    return found->second;
  }
  const std::vector<std::string>& all() const { return names_; }

 private:
  std::unordered_map<std::string, int32_t> index_;
  std::vector<std::string> names_;
};

int64_t Nanoseconds(double seconds) { return static_cast<int64_t>(seconds * 1e9); }

TraceRank MakeRank(const RankTimeline& timeline, Names& names) {
  TraceRank trace{timeline.rank, {}};
  for (int stream = 0; stream < timeline.streams; ++stream) {
    const bool communication = stream == timeline.streams - 1;
    trace.streams.push_back({communication ? "communication" : "compute", communication ? "move" : "node", {}});
  }
  for (const LaunchSpan& span : timeline.spans) {
    if (span.launch->stream >= timeline.streams) continue;
    const int64_t begin = Nanoseconds(span.begin);
    trace.streams[span.launch->stream].spans.push_back(
        {names.IndexOf(span.launch->name), begin, Nanoseconds(span.end) - begin});
  }
  return trace;
}

}  // namespace

absl::Status SaveTimelines(std::span<const RankTimeline> timelines, const std::string& path) {
  Names names;
  std::vector<TraceRank> ranks;
  for (const RankTimeline& timeline : timelines) ranks.push_back(MakeRank(timeline, names));
  return WriteChromeTrace(path, ranks, names.all());
}

absl::Status SaveTimeline(const Session& session, const std::string& path) {
  std::vector<RankTimeline> timelines;
  const int streams = session.schedule(kTrainEntry, session.local_ranks().front()).streams;
  for (int rank = 0; rank < session.ranks(); ++rank) {
    timelines.push_back({rank, streams, session.Timeline(kTrainEntry, rank)});
  }
  return SaveTimelines(timelines, path);
}

}  // namespace partita
