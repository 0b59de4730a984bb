#include "partitioner/simulate/meetings.h"

#include <algorithm>

#include "partitioner/cost/launch_cost.h"

namespace partita {

Meetings::Meetings(const Cluster& cluster, const RankClasses& classes)
    : cluster_(cluster),
      classes_(classes),
      calls_(classes.first.size(), nullptr),
      meetings_(classes.groups.size()),
      crossings_(cluster.domains.size(), 0) {}

void Meetings::Come(int rank_class, int group, const CollectiveLaunch& call) {
  calls_[rank_class] = &call;
  Meeting& meeting = meetings_[group];
  if (++meeting.come < classes_.groups[group].classes.size()) return;
  under_way_.insert(group);
  Share(group, +1);
}

std::vector<MeetingEnd> Meetings::Update(double now) {
  std::vector<MeetingEnd> ends;
  if (!changed_) return ends;
  changed_ = false;
  for (const int group : under_way_) {
    Meeting& meeting = meetings_[group];
    std::vector<int> sharing = SharingOf(group);
    if (meeting.goes && sharing == meeting.sharing) continue;
    const double seconds = SecondsOf(group, sharing);
    meeting.sharing = std::move(sharing);
    if (meeting.goes && seconds == meeting.seconds) continue;
    if (meeting.seconds > 0) meeting.done += (now - meeting.since) / meeting.seconds;
    meeting.goes = true;
    meeting.since = now;
    meeting.seconds = seconds;
    ends.push_back({now + std::max(0.0, 1 - meeting.done) * seconds, group, ++meeting.version});
  }
  return ends;
}

bool Meetings::Finish(const MeetingEnd& end) {
  Meeting& meeting = meetings_[end.group];
  if (end.version != meeting.version || !under_way_.contains(end.group)) return false;
  under_way_.erase(end.group);
  Share(end.group, -1);
  const int version = meeting.version;
  meeting = Meeting();
  meeting.version = version;
  return true;
}

void Meetings::Share(int group, int sign) {
  const Crossings& own = classes_.groups[group].crossings;
  for (size_t d = 0; d < own.size(); ++d) crossings_[d] += sign * own[d];
  changed_ = true;
}

std::vector<int> Meetings::SharingOf(int group) const {
  std::vector<int> sharing;
  for (const int domain : classes_.groups[group].left) sharing.push_back(crossings_[domain]);
  return sharing;
}

double Meetings::SecondsOf(int group, const std::vector<int>& sharing) {
  const GroupClass& own = classes_.groups[group];
  const CollectiveLaunch& call = *calls_[own.classes[0]];
  if (call.kind == CollectiveKind::kAllToAll) return SecondsOfMessages(own);
  return GroupSeconds(cluster_.KindOf(own.ranks[0]), call.kind, BytesOf(call), Levels(group, sharing));
}

// Until the busiest of its ranks has done.
double Meetings::SecondsOfMessages(const GroupClass& group) const {
  double longest = 0;
  for (const int rank : group.ranks) {
    const CollectiveLaunch& call = *calls_[classes_.of_rank[rank]];
    longest = std::max(longest, MessageSeconds(cluster_, call, group.ranks, rank, crossings_));
  }
  return longest;
}

const std::vector<GroupLevel>& Meetings::Levels(int group, const std::vector<int>& sharing) {
  const auto [found, is_new] = levels_.try_emplace({group, sharing});
  if (is_new) found->second = LevelsOf(cluster_, classes_.groups[group].ranks, crossings_);
  return found->second;
}

}  // namespace partita
