#include "runtime/telemetry/trace.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <limits>
#include <nlohmann/json.hpp>

#include "runtime/base/check.h"
#include "runtime/base/files.h"

namespace partita {
namespace {

// Quoted and escaped; bytes that are not UTF-8 become U+FFFD, so nothing throws.
std::string Quoted(const std::string& text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

// Nanoseconds as microseconds with three decimals, without a way through floating point.
std::string Microseconds(int64_t ns) { return fmt::format("{}.{:03}", ns / 1000, ns % 1000); }

int64_t EarliestBegin(std::span<const TraceRank> ranks) {
  int64_t earliest = std::numeric_limits<int64_t>::max();
  for (const TraceRank& rank : ranks) {
    for (const TraceStream& stream : rank.streams) {
      for (const TraceSpan& span : stream.spans) earliest = std::min(earliest, span.begin_ns);
    }
  }
  return earliest;
}

class Writer {
 public:
  Writer(std::span<const std::string> names, int64_t origin_ns) : origin_ns_(origin_ns) {
    for (const std::string& name : names) names_.push_back(Quoted(name));
  }

  void AddRank(const TraceRank& rank) {
    AddName("process_name", rank.rank, 0, fmt::format("rank {}", rank.rank));
    Begin();
    Append(R"({{"name":"process_sort_index","ph":"M","pid":{},"tid":0,"args":{{"sort_index":{}}}}})", rank.rank,
           rank.rank);
    for (size_t i = 0; i < rank.streams.size(); ++i) AddStream(rank.rank, i, rank.streams[i]);
  }

  std::string Take() { return R"({"displayTimeUnit":"ms","traceEvents":[)" + events_ + "\n]}\n"; }

 private:
  template <typename... Args>
  void Append(fmt::format_string<Args...> format, Args&&... args) {
    fmt::format_to(std::back_inserter(events_), format, std::forward<Args>(args)...);
  }

  void Begin() { events_ += events_.empty() ? "\n" : ",\n"; }

  void AddName(const char* what, int64_t pid, size_t tid, const std::string& name) {
    Begin();
    Append(R"({{"name":"{}","ph":"M","pid":{},"tid":{},"args":{{"name":{}}}}})", what, pid, tid, Quoted(name));
  }

  void AddStream(int64_t pid, size_t tid, const TraceStream& stream) {
    AddName("thread_name", pid, tid, stream.name);
    const std::string category = Quoted(stream.category);
    // A viewer nests slices in the order of the file: the earlier, and of two that begin together the longer, first.
    std::vector<TraceSpan> spans = stream.spans;
    std::stable_sort(spans.begin(), spans.end(), [](const TraceSpan& a, const TraceSpan& b) {
      return a.begin_ns != b.begin_ns ? a.begin_ns < b.begin_ns : a.duration_ns > b.duration_ns;
    });
    for (const TraceSpan& span : spans) {
      CHECK(span.name >= 0 && static_cast<size_t>(span.name) < names_.size());
      Begin();
      Append(R"({{"name":{},"cat":{},"ph":"X","ts":{},"dur":{},"pid":{},"tid":{}}})", names_[span.name], category,
             Microseconds(span.begin_ns - origin_ns_), Microseconds(std::max<int64_t>(span.duration_ns, 0)), pid, tid);
    }
  }

  const int64_t origin_ns_;
  std::vector<std::string> names_;
  std::string events_;
};

}  // namespace

absl::Status WriteChromeTrace(const std::string& path, std::span<const TraceRank> ranks,
                              std::span<const std::string> names) {
  Writer writer(names, EarliestBegin(ranks));
  for (const TraceRank& rank : ranks) writer.AddRank(rank);
  return WriteFileAtomically(path, writer.Take());
}

}  // namespace partita
