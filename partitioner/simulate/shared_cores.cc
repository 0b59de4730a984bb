#include "partitioner/simulate/shared_cores.h"

#include <algorithm>
#include <map>

namespace partita {

SharedCores::SharedCores(const Cluster& cluster, const RankClasses& classes)
    : cluster_(cluster), classes_(classes), peers_(classes.first.size()), under_way_(classes.first.size()) {
  std::map<int, std::map<int, int>> ranks;  // by domain and class
  for (size_t rank = 0; rank < classes.of_rank.size(); ++rank) {
    ++ranks[cluster.devices[rank].domain][classes.of_rank[rank]];
  }
  for (size_t c = 0; c < classes.first.size(); ++c) {
    const int first = classes.first[c];
    if (cluster.KindOf(first).slowdown.empty()) continue;
    const std::map<int, int>& beside = ranks[cluster.devices[first].domain];
    peers_[c].assign(beside.begin(), beside.end());
  }
}

void SharedCores::Begin(int rank_class, int launch, double seconds) {
  under_way_[rank_class].push_back({launch, seconds});
  changed_ = true;
}

std::vector<WorkEnd> SharedCores::Update(double now) {
  std::vector<WorkEnd> ends;
  if (!std::exchange(changed_, false)) return ends;
  for (size_t c = 0; c < under_way_.size(); ++c) {
    if (under_way_[c].empty()) continue;
    const double pace = PaceOf(static_cast<int>(c));
    for (Work& work : under_way_[c]) {
      const double seconds = work.beside_all * pace;
      if (work.goes && seconds == work.seconds) continue;
      if (work.seconds > 0) work.done += (now - work.since) / work.seconds;
      work.goes = true;
      work.since = now;
      work.seconds = seconds;
      const double left = std::max(0.0, 1 - work.done) * seconds;
      ends.push_back({now + left, static_cast<int>(c), work.launch, ++work.version});
    }
  }
  return ends;
}

bool SharedCores::Finish(const WorkEnd& end) {
  std::vector<Work>& works = under_way_[end.rank_class];
  const auto found = std::ranges::find(works, end.launch, &Work::launch);
  if (found == works.end() || found->version != end.version) return false;
  works.erase(found);
  changed_ = true;
  return true;
}

// Of those beside it that compute now, itself one of them, against all.
double SharedCores::PaceOf(int rank_class) const {
  int all = 0, computing = 0;
  for (const auto& [other, ranks] : peers_[rank_class]) {
    all += ranks;
    if (!under_way_[other].empty()) computing += ranks;
  }
  const Slowdown& slowdown = cluster_.KindOf(classes_.first[rank_class]).slowdown;
  return SlowdownOf(slowdown, computing) / SlowdownOf(slowdown, all);
}

}  // namespace partita
