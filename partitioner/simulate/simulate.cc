#include "partitioner/simulate/simulate.h"

#include <algorithm>
#include <numeric>
#include <queue>
#include <utility>
#include <variant>

#include "partitioner/simulate/meetings.h"
#include "partitioner/simulate/rank_classes.h"
#include "partitioner/simulate/rank_work.h"
#include "partitioner/simulate/shared_cores.h"
#include "runtime/base/check.h"
#include "runtime/base/status.h"

namespace partita {
namespace {

// A launch of a class of ranks that begins, as its stream goes on, or ends.
struct LaunchBegin {
  int rank_class = 0, launch = 0;
};
struct LaunchEnd {
  int rank_class = 0, launch = 0;
};

struct Event {
  double seconds = 0;
  std::variant<LaunchBegin, LaunchEnd, WorkEnd, MeetingEnd> what;

  bool operator>(const Event& other) const { return seconds > other.seconds; }
};

// Seconds. A step that takes longer is refused, so that all its moments are whole nanoseconds in 64 bits.
constexpr double kLongestStep = 1e9;

// One step of all classes of ranks, from moment to moment. No event lies in the past or is not a number, so each round
// of Run removes at least one event, and there are at most MostEvents of them.
class Walk {
 public:
  Walk(const RankWorks& works, const RankClasses& classes, const Cluster& cluster)
      : classes_(classes), meetings_(cluster, classes), cores_(cluster, classes) {
    for (const int first : classes.first) {
      Rank& rank = ranks_.emplace_back(Rank{&works.works[works.of_rank[first]], {}, {}, -1, 0});
      for (const TimedLaunch& launch : rank.work->launches) rank.waits.push_back(launch.waits);
      rank.spans.resize(rank.waits.size());
    }
  }

  absl::StatusOr<std::vector<RankTimeline>> Run() {
    for (size_t c = 0; c < ranks_.size(); ++c) {
      for (size_t l = 0; l < ranks_[c].waits.size(); ++l) {
        if (ranks_[c].work->launches[l].waits == 0) Start(static_cast<int>(c), static_cast<int>(l), 0);
      }
    }
    Reckon(0);
    for (int64_t left = MostEvents(); !events_.empty() && status_.ok();) {
      const double now = events_.top().seconds;
      while (!events_.empty() && events_.top().seconds == now) {
        if (--left < 0) return Internal("a simulated step has more than {} events", MostEvents());
        const Event event = events_.top();
        events_.pop();
        std::visit([&](const auto& what) { Pass(what, now); }, event.what);
      }
      Reckon(now);
    }
    RETURN_IF_ERROR(status_);
    return Timelines();
  }

 private:
  // Each launch begins late at most once and ends once. Each of these two may change the pace of all that is under way,
  // at most one launch a stream, whose ends are then computed again.
  int64_t MostEvents() const {
    int64_t launches = 0, streams = 0;
    for (const Rank& rank : ranks_) {
      launches += static_cast<int64_t>(rank.spans.size());
      streams += rank.work->schedule->host_stream() + 1;
    }
    return 2 * launches + (2 * launches + 1) * streams;
  }

  template <typename What>
  void Push(double now, double seconds, const What& what) {
    if (seconds >= now && seconds <= kLongestStep) {
      events_.push({seconds, what});
    } else if (seconds > kLongestStep) {
      status_.Update(
          InvalidArgument("a step takes {:.3g} seconds; at most {:.0e} are simulated: are the speeds and "
                          "latencies of the cluster right?",
                          seconds, kLongestStep));
    } else {
      status_.Update(Internal("an event at {} s lies behind {} s", seconds, now));
    }
  }

  struct Rank {
    const RankWork* work = nullptr;
    std::vector<int> waits;  // by launch: what it still waits for
    std::vector<LaunchSpan> spans;
    int called = -1;  // the collective that it is in
    size_t ended = 0;
  };

  void Start(int rank_class, int launch, double now) {
    Rank& rank = ranks_[rank_class];
    const TimedLaunch& timed = rank.work->launches[launch];
    rank.spans[launch] = {&rank.work->schedule->launches[launch], now, now};
    if (timed.call == nullptr && timed.seconds > 0 && cores_.Has(rank_class)) {
      cores_.Begin(rank_class, launch, timed.seconds);
    } else if (timed.call == nullptr) {
      Push(now, now + timed.seconds, LaunchEnd{rank_class, launch});
    } else {
      rank.called = launch;
      const int group = classes_.group_of[rank_class][timed.key];
      if (group >= 0) meetings_.Come(rank_class, group, *timed.call);
    }
  }

  void End(int rank_class, int launch, double now) {
    Rank& rank = ranks_[rank_class];
    rank.spans[launch].end = now;
    ++rank.ended;
    for (const int next : rank.work->launches[launch].next) {
      if (--rank.waits[next] == 0) GoOn(rank_class, next, now);
    }
  }

  // All that a launch waits for has ended; its stream sleeps if that was long over.
  void GoOn(int rank_class, int launch, double now) {
    const Rank& rank = ranks_[rank_class];
    const TimedLaunch& timed = rank.work->launches[launch];
    const bool sleeps = timed.before < 0 || rank.spans[timed.before].end < now;
    if (!sleeps || timed.wake_seconds == 0) return Start(rank_class, launch, now);
    Push(now, now + timed.wake_seconds, LaunchBegin{rank_class, launch});
  }

  void Pass(const LaunchBegin& begin, double now) { Start(begin.rank_class, begin.launch, now); }
  void Pass(const LaunchEnd& end, double now) { End(end.rank_class, end.launch, now); }

  void Pass(const WorkEnd& end, double now) {
    if (cores_.Finish(end)) End(end.rank_class, end.launch, now);
  }

  void Pass(const MeetingEnd& end, double now) {
    if (!meetings_.Finish(end)) return;
    for (const int member : classes_.groups[end.group].classes) End(member, ranks_[member].called, now);
  }

  void Reckon(double now) {
    for (const MeetingEnd& end : meetings_.Update(now)) Push(now, end.seconds, end);
    for (const WorkEnd& end : cores_.Update(now)) Push(now, end.seconds, end);
  }

  absl::StatusOr<std::vector<RankTimeline>> Timelines() {
    std::vector<RankTimeline> timelines;
    for (size_t c = 0; c < ranks_.size(); ++c) {
      Rank& rank = ranks_[c];
      if (rank.ended < rank.spans.size()) {
        return Internal("rank {}: {} of its {} launches have ended, and the others wait for ranks that never come",
                        classes_.first[c], rank.ended, rank.spans.size());
      }
      timelines.push_back({classes_.first[c], rank.work->schedule->streams, std::move(rank.spans)});
    }
    return timelines;
  }

  const RankClasses& classes_;
  Meetings meetings_;
  SharedCores cores_;
  std::vector<Rank> ranks_;  // by class
  std::priority_queue<Event, std::vector<Event>, std::greater<>> events_;
  absl::Status status_;  // of the first event that cannot be
};

// By rank: equal for those that do the same work on the same kind of device; or, unfolded, never.
std::vector<int> BeginningsOf(const RankWorks& works, const Cluster& cluster, bool fold) {
  std::vector<int> beginnings = works.of_rank;
  if (!fold) std::iota(beginnings.begin(), beginnings.end(), 0);
  const int kinds = static_cast<int>(cluster.kinds.size());
  for (size_t rank = 0; fold && rank < beginnings.size(); ++rank) {
    beginnings[rank] = beginnings[rank] * kinds + cluster.devices[rank].kind;
  }
  return beginnings;
}

}  // namespace

double SimulatedStep::seconds() const {
  double last = 0;
  for (const RankTimeline& timeline : timelines) {
    for (const LaunchSpan& span : timeline.spans) last = std::max(last, span.end);
  }
  return last;
}

absl::StatusOr<SimulatedStep> Simulate(const Program& program, std::span<const Schedule* const> schedules,
                                       const Cluster& cluster, const SimulationOptions& options) {
  CHECK(static_cast<int>(schedules.size()) == program.ranks());
  RETURN_IF_ERROR(CheckRanks(cluster, static_cast<int>(schedules.size())));
  const GroupTable groups(program);
  const RankWorks works = ReadWork(groups, schedules, cluster, options.times);
  RankClasses classes = ClassesOf(program, groups, cluster, BeginningsOf(works, cluster, options.fold));
  ASSIGN_OR_RETURN(std::vector<RankTimeline> timelines, Walk(works, classes, cluster).Run());
  return SimulatedStep{std::move(timelines), std::move(classes.of_rank)};
}

}  // namespace partita
