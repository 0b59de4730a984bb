#include "graph/plan/streams.h"

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <set>
#include <utility>

namespace partita {
namespace {

// Fewer streams, unless more are better by this part.
constexpr double kLeastGain = 0.05;

// By launch: the longest path from its beginning to the step's end, in seconds, without waits.
std::vector<double> SecondsToTheEnd(const std::vector<StreamWork>& work) {
  std::vector<double> behind(work.size(), 0), path(work.size());
  for (size_t l = work.size(); l-- > 0;) {
    path[l] = work[l].seconds + behind[l];
    for (const int producer : work[l].producers) behind[producer] = std::max(behind[producer], path[l]);
  }
  return path;
}

std::vector<int> InProgramOrder(size_t launches) {
  std::vector<int> order(launches);
  std::iota(order.begin(), order.end(), 0);
  return order;
}

// Producers come first: a path is no longer than that of a producer.
std::vector<int> LongestPathFirst(const std::vector<double>& path) {
  std::vector<int> order = InProgramOrder(path.size());
  std::stable_sort(order.begin(), order.end(), [&](int a, int b) { return path[a] > path[b]; });
  return order;
}

// Gives launches their streams one after the other, each after its producers.
class List {
 public:
  // Of `compute_streams` the first `used` get launches.
  List(const std::vector<StreamWork>& work, int compute_streams, int used, double wait_seconds)
      : work_(work),
        compute_streams_(compute_streams),
        used_(used),
        wait_seconds_(wait_seconds),
        free_(compute_streams + 2, 0),
        end_(work.size(), 0),
        streams_(work.size(), 0) {}

  void Place(int launch) {
    const int stream = StreamFor(launch);
    streams_[launch] = stream;
    end_[launch] = EndOn(launch, stream);
    free_[stream] = end_[launch];
  }

  std::vector<int> Streams() && { return std::move(streams_); }

 private:
  int StreamFor(int launch) const {
    if (work_[launch].lane == Lane::kCollective) return compute_streams_;
    if (work_[launch].lane == Lane::kHost) return compute_streams_ + 1;
    int best = PreferredStream(launch);
    for (int stream = 0; stream < used_; ++stream) {
      if (EndOn(launch, stream) < EndOn(launch, best)) best = stream;
    }
    return best;
  }

  // Of several on which it would end at once: that of what it waits for longest, so that chains stay together.
  int PreferredStream(int launch) const {
    int latest = -1;
    for (const int producer : work_[launch].producers) {
      if (work_[producer].lane != Lane::kCompute) continue;
      if (latest < 0 || end_[producer] > end_[latest]) latest = producer;
    }
    return latest < 0 ? 0 : streams_[latest];
  }

  double EndOn(int launch, int stream) const {
    double begin = free_[stream];
    for (const int producer : work_[launch].producers) {
      begin = std::max(begin, end_[producer] + (streams_[producer] == stream ? 0 : wait_seconds_));
    }
    return begin + work_[launch].seconds;
  }

  const std::vector<StreamWork>& work_;
  const int compute_streams_, used_;
  const double wait_seconds_;
  std::vector<double> free_, end_;  // by stream, by launch
  std::vector<int> streams_;
};

std::vector<int> Listed(const std::vector<StreamWork>& work, const std::vector<int>& order, int compute_streams,
                        int used, double wait_seconds) {
  List list(work, compute_streams, used, wait_seconds);
  for (const int launch : order) list.Place(launch);
  return std::move(list).Streams();
}

// The longest path goes through the launch with the longest path to the end, and on to such a one of its readers.
std::vector<int> CriticalPath(const std::vector<StreamWork>& work, const std::vector<double>& path) {
  std::vector<int> next(work.size(), -1);
  for (size_t l = 0; l < work.size(); ++l) {
    for (const int producer : work[l].producers) {
      if (next[producer] < 0 || path[l] > path[next[producer]]) next[producer] = static_cast<int>(l);
    }
  }
  std::vector<int> critical;
  auto launch = static_cast<int>(std::max_element(path.begin(), path.end()) - path.begin());
  for (; launch >= 0; launch = next[launch]) critical.push_back(launch);
  return critical;
}

// Exchanges stream 0 with that on which the longest path lies for most of its time.
void NumberByPath(const std::vector<StreamWork>& work, const std::vector<double>& path, int compute_streams,
                  std::vector<int>& streams) {
  std::vector<double> seconds(compute_streams, 0);
  for (const int launch : CriticalPath(work, path)) {
    if (work[launch].lane == Lane::kCompute) seconds[streams[launch]] += work[launch].seconds;
  }
  const auto most = static_cast<int>(std::max_element(seconds.begin(), seconds.end()) - seconds.begin());
  for (int& stream : streams) {
    if (stream == 0 || stream == most) stream = most - stream;
  }
}

}  // namespace

double StepSeconds(const std::vector<StreamWork>& work, const std::vector<int>& streams, double wait_seconds) {
  std::vector<double> free(*std::max_element(streams.begin(), streams.end()) + 1, 0), end(work.size());
  for (size_t l = 0; l < work.size(); ++l) {
    double begin = free[streams[l]];
    for (const int producer : work[l].producers) {
      begin = std::max(begin, end[producer] + (streams[producer] == streams[l] ? 0 : wait_seconds));
    }
    free[streams[l]] = end[l] = begin + work[l].seconds;
  }
  return *std::max_element(free.begin(), free.end());
}

int StreamsUsed(const std::vector<StreamWork>& work, const std::vector<int>& streams) {
  std::set<int> used;
  for (size_t l = 0; l < work.size(); ++l) {
    if (work[l].lane == Lane::kCompute) used.insert(streams[l]);
  }
  return static_cast<int>(used.size());
}

std::vector<int> AssignStreams(const std::vector<StreamWork>& work, int compute_streams, double wait_seconds) {
  const std::vector<int> program_order = InProgramOrder(work.size());
  std::vector<int> best = Listed(work, program_order, compute_streams, 1, wait_seconds);
  if (compute_streams == 1 || work.empty()) return best;
  const std::vector<double> path = SecondsToTheEnd(work);
  const std::vector<int> by_path = LongestPathFirst(path);
  double least = StepSeconds(work, best, wait_seconds);
  for (int used = 2; used <= compute_streams; ++used) {
    for (const std::vector<int>* const order : {&by_path, &program_order}) {
      std::vector<int> streams = Listed(work, *order, compute_streams, used, wait_seconds);
      const double seconds = StepSeconds(work, streams, wait_seconds);
      if (seconds > (1 - kLeastGain) * least) continue;
      least = seconds;
      best = std::move(streams);
    }
  }
  NumberByPath(work, path, compute_streams, best);
  return best;
}

}  // namespace partita
