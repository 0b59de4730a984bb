#include "partitioner/simulate/rank_work.h"

#include <algorithm>
#include <map>
#include <string>
#include <tuple>
#include <type_traits>
#include <variant>

#include "partitioner/cost/launch_cost.h"

namespace partita {
namespace {

// By a launch on another stream of the device: the host begins and ends steps.
bool IsWoken(const Schedule& schedule, const Launch& launch) {
  const auto of_device = [&](int other) { return schedule.launches[other].stream != schedule.host_stream(); };
  return launch.stream != schedule.host_stream() && std::ranges::any_of(launch.waits, of_device);
}

// A launch starts after the one before it on its stream and after those it waits for.
void Connect(const Schedule& schedule, double wake_seconds, std::vector<TimedLaunch>& launches) {
  std::vector<int> last(static_cast<size_t>(schedule.host_stream()) + 1, -1);
  const auto follow = [&](int before, size_t after) {
    launches[before].next.push_back(static_cast<int>(after));
    ++launches[after].waits;
  };
  for (size_t l = 0; l < launches.size(); ++l) {
    const Launch& launch = schedule.launches[l];
    int& before = last[launch.stream];
    if (before >= 0) follow(before, l);
    for (const int wait : launch.waits) follow(wait, l);
    launches[l].before = before;
    if (IsWoken(schedule, launch)) launches[l].wake_seconds = wake_seconds;
    before = static_cast<int>(l);
  }
}

RankWork WorkOf(const GroupTable& groups, const Schedule& schedule, const DeviceKind& kind, int sharing,
                const KernelTimes& times) {
  RankWork work{&schedule, {}};
  work.launches.reserve(schedule.launches.size());
  for (const Launch& launch : schedule.launches) {
    TimedLaunch& timed = work.launches.emplace_back();
    timed.seconds = LaunchSeconds(launch, kind, sharing, times);
    timed.call = std::get_if<CollectiveLaunch>(&launch.work);
    if (timed.call != nullptr) timed.key = groups.KeyOf(timed.call->group);
  }
  Connect(schedule, kind.wake_seconds, work.launches);
  return work;
}

// Bytes that are equal if and only if the works are.
class Fingerprint {
 public:
  explicit Fingerprint(const RankWork& work) {
    Add(work.schedule->streams);
    for (size_t l = 0; l < work.launches.size(); ++l) Add(work.schedule->launches[l], work.launches[l]);
  }
  std::string Take() { return std::move(bytes_); }

 private:
  template <typename T>
  requires std::is_arithmetic_v<T> || std::is_enum_v<T>
  void Add(T value) { bytes_.append(reinterpret_cast<const char*>(&value), sizeof(value)); }

  template <typename List>
  requires requires(const List& list) { list.size(); }
  void Add(const List& list) {
    Add(list.size());
    for (const auto& value : list) Add(value);
  }

  void Add(const Launch& launch, const TimedLaunch& timed) {
    Add(launch.name);
    Add(launch.stream);
    Add(launch.waits);
    Add(timed.seconds);
    Add(timed.wake_seconds);
    Add(timed.key);
    if (timed.call != nullptr) Add(*timed.call);
  }

  void Add(const CollectiveLaunch& call) {
    Add(call.kind);
    Add(call.dtype);
    Add(call.input_count);
    Add(call.output_count);
    Add(call.send_counts);
    Add(call.receive_counts);
  }

  std::string bytes_;
};

class Reader {
 public:
  Reader(const GroupTable& groups, std::span<const Schedule* const> schedules, const Cluster& cluster,
         const KernelTimes& times)
      : groups_(groups), schedules_(schedules), cluster_(cluster), times_(times) {}

  RankWorks Read() {
    for (int rank = 0; rank < static_cast<int>(schedules_.size()); ++rank) works_.of_rank.push_back(PlaceOf(rank));
    return std::move(works_);
  }

 private:
  int PlaceOf(int rank) {
    const int ranks = static_cast<int>(schedules_.size()), sharing = RanksSharingCores(cluster_, rank, ranks);
    const auto [known, is_new] = read_.try_emplace({schedules_[rank], cluster_.devices[rank].kind, sharing}, -1);
    if (!is_new) return known->second;
    RankWork work = WorkOf(groups_, *schedules_[rank], cluster_.KindOf(rank), sharing, times_);
    const auto [equal, differs] = places_.try_emplace(Fingerprint(work).Take(), static_cast<int>(works_.works.size()));
    if (differs) works_.works.push_back(std::move(work));
    return known->second = equal->second;
  }

  const GroupTable& groups_;
  const std::span<const Schedule* const> schedules_;
  const Cluster& cluster_;
  const KernelTimes& times_;
  std::map<std::tuple<const Schedule*, int, int>, int> read_;  // schedule, kind of device, who shares its cores
  std::map<std::string, int> places_;                          // by fingerprint
  RankWorks works_;
};

}  // namespace

RankWorks ReadWork(const GroupTable& groups, std::span<const Schedule* const> schedules, const Cluster& cluster,
                   const KernelTimes& times) {
  return Reader(groups, schedules, cluster, times).Read();
}

}  // namespace partita
