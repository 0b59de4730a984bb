#include "graph/prove/verify_collectives.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <vector>

#include "graph/schedule/group_table.h"
#include "runtime/base/status.h"

namespace partita {
namespace {

// One rank's launch of a collective, and where it stands in the rank's chain.
struct Call {
  const Launch* launch = nullptr;
  int rank = 0;
  int index = 0;  // in the schedule
  int group = 0;  // of the rank
  int self = 0;   // position of the rank in the group

  const CollectiveLaunch& work() const { return std::get<CollectiveLaunch>(launch->work); }
};

std::string Describe(const Call& call) {
  return fmt::format("{} '{}' (launch {} of rank {})", Name(call.work().kind), call.launch->name, call.index,
                     call.rank);
}

absl::Status Disagree(const Program& program, const Call& a, const Call& b, const std::string& what) {
  return Internal("group {}: {} meets {}: {}", ToString(program.groups[a.group], program.meshes), Describe(a),
                  Describe(b), what);
}

int64_t Sum(const std::vector<int64_t>& counts) { return std::accumulate(counts.begin(), counts.end(), int64_t{0}); }

// What the group's first member and another one must agree on.
absl::Status CheckAgreement(const Program& program, const Call& first, const Call& other) {
  if (first.launch == other.launch) return absl::OkStatus();
  const CollectiveLaunch& a = first.work();
  const CollectiveLaunch& b = other.work();
  if (first.launch->node != other.launch->node) return Disagree(program, first, other, "they belong to two nodes");
  if (a.kind != b.kind) return Disagree(program, first, other, "kinds differ");
  if (a.dtype != b.dtype)
    return Disagree(program, first, other, fmt::format("{} and {}", Name(a.dtype), Name(b.dtype)));
  if (a.reduction != b.reduction) return Disagree(program, first, other, "reductions differ");
  if (a.root != b.root) return Disagree(program, first, other, fmt::format("roots {} and {}", a.root, b.root));
  const bool blocks = a.kind == CollectiveKind::kAllGather || a.kind == CollectiveKind::kReduceScatter;
  if (blocks && a.send_counts != b.send_counts) return Disagree(program, first, other, "blocks differ");
  const bool same_input = a.kind == CollectiveKind::kAllReduce || a.kind == CollectiveKind::kReduce;
  if (same_input && a.input_count != b.input_count) {
    return Disagree(program, first, other, fmt::format("counts {} and {}", a.input_count, b.input_count));
  }
  if (a.kind == CollectiveKind::kBroadcast && a.output_count != b.output_count) {
    return Disagree(program, first, other, fmt::format("counts {} and {}", a.output_count, b.output_count));
  }
  return absl::OkStatus();
}

// Boxes with as many elements as are counted, inside an operand of `elements`.
bool BoxesFit(const std::vector<PlacedBox>& boxes, const std::vector<int64_t>& counts, int64_t elements) {
  if (boxes.size() != counts.size()) return false;
  for (size_t r = 0; r < boxes.size(); ++r) {
    const auto& [first, shape, box] = boxes[r];
    if (box.elements() != counts[r]) return false;
    if (counts[r] == 0) continue;
    if (first < 0 || first + Elements(shape) > elements || Intersect(box, WholeBox(shape)) != box) return false;
  }
  return true;
}

// What one call must keep by itself.
bool CountsFit(const Call& call, size_t ranks) {
  const CollectiveLaunch& work = call.work();
  const bool root = work.root == call.self;
  const bool lists = work.send_counts.size() == ranks;
  const bool set = (work.input >= 0 || work.input_count == 0) && (work.output >= 0 || work.output_count == 0);
  if (!set || work.root < 0 || work.root >= static_cast<int>(ranks)) return false;
  switch (work.kind) {
    case CollectiveKind::kAllReduce:
      return work.input_count == work.output_count;
    case CollectiveKind::kAllGather:
      return lists && work.input_count == work.send_counts[call.self] && work.output_count == Sum(work.send_counts);
    case CollectiveKind::kReduceScatter:
      return lists && work.output_count == work.send_counts[call.self] && work.input_count == Sum(work.send_counts);
    case CollectiveKind::kBroadcast:
      return work.input_count == (root ? work.output_count : 0);
    case CollectiveKind::kReduce:
      return work.output_count == (root ? work.input_count : 0);
    case CollectiveKind::kAllToAll:
      if (!lists || work.receive_counts.size() != ranks) return false;
      if (work.send_boxes.empty() && work.receive_boxes.empty()) {
        return work.input_count == Sum(work.send_counts) && work.output_count == Sum(work.receive_counts);
      }
      return BoxesFit(work.send_boxes, work.send_counts, work.input_count) &&
             BoxesFit(work.receive_boxes, work.receive_counts, work.output_count);
  }
  return false;
}

absl::Status CheckPairs(const Program& program, const std::vector<Call>& calls) {
  for (size_t i = 0; i < calls.size(); ++i) {
    for (size_t j = 0; j < calls.size(); ++j) {
      const int64_t sent = calls[i].work().send_counts[j];
      const int64_t expected = calls[j].work().receive_counts[i];
      if (sent != expected) {
        return Disagree(
            program, calls[i], calls[j],
            fmt::format("rank {} sends {}, rank {} expects {}", calls[i].rank, sent, calls[j].rank, expected));
      }
      const auto &boxes = calls[i].work().send_boxes, &places = calls[j].work().receive_boxes;
      if (boxes.empty() != places.empty()) return Disagree(program, calls[i], calls[j], "one of them exchanges boxes");
      if (sent == 0 || boxes.empty() || boxes[j].box.size == places[i].box.size) continue;
      return Disagree(program, calls[i], calls[j],
                      fmt::format("rank {} sends a box {}, rank {} expects {}", calls[i].rank,
                                  ToString(boxes[j].box.size), calls[j].rank, ToString(places[i].box.size)));
    }
  }
  return absl::OkStatus();
}

// One collective: the calls of all members of the group.
absl::Status CheckMeeting(const Program& program, const std::vector<Call>& calls) {
  for (const Call& call : calls) {
    RETURN_IF_ERROR(CheckAgreement(program, calls.front(), call));
    if (!CountsFit(call, calls.size())) {
      return Internal("group {}: {}: counts or root do not fit its kind",
                      ToString(program.groups[call.group], program.meshes), Describe(call));
    }
  }
  const bool pairs = calls.front().work().kind == CollectiveKind::kAllToAll;
  return pairs ? CheckPairs(program, calls) : absl::OkStatus();
}

// The collectives of a schedule.
struct Chain {
  const Schedule* schedule = nullptr;
  std::vector<int> launches;
};

std::string Describe(const Schedule& schedule, int launch) {
  return Describe(Call{&schedule.launches[static_cast<size_t>(launch)], schedule.rank, launch});
}

// A chain runs in the order of the program's nodes; one that is made in rounds has several in a row.
absl::Status CheckProgramOrder(const Chain& chain) {
  const std::vector<Launch>& launches = chain.schedule->launches;
  for (size_t c = 1; c < chain.launches.size(); ++c) {
    const int before = chain.launches[c - 1], after = chain.launches[c];
    if (launches[static_cast<size_t>(before)].node <= launches[static_cast<size_t>(after)].node) continue;
    return Internal("{} comes before {}: not the order of the program", Describe(*chain.schedule, before),
                    Describe(*chain.schedule, after));
  }
  return absl::OkStatus();
}

// The chains of all ranks. Ranks that share a schedule share its chain.
class Chains {
 public:
  Chains(const Program& program, std::span<const Schedule* const> by_rank)
      : program_(program), by_rank_(by_rank), groups_(program) {}

  absl::Status Collect() {
    std::map<const Schedule*, int> known;
    for (const Schedule* const schedule : by_rank_) {
      const auto [found, is_new] = known.try_emplace(schedule, static_cast<int>(chains_.size()));
      of_rank_.push_back(found->second);
      if (is_new) chains_.push_back({schedule, {}});
    }
    for (Chain& chain : chains_) {
      for (size_t l = 0; l < chain.schedule->launches.size(); ++l) {
        const auto* const work = std::get_if<CollectiveLaunch>(&chain.schedule->launches[l].work);
        if (work == nullptr) continue;
        if (work->group < 0 || work->group >= static_cast<int>(program_.groups.size())) {
          return Internal("{} is of group {}, which does not exist", Describe(*chain.schedule, static_cast<int>(l)),
                          work->group);
        }
        chain.launches.push_back(static_cast<int>(l));
      }
    }
    return CheckMembers();
  }

  absl::Status CheckOrder() const {
    for (const Chain& chain : chains_) RETURN_IF_ERROR(CheckProgramOrder(chain));
    return absl::OkStatus();
  }

  int ranks() const { return static_cast<int>(by_rank_.size()); }

  // The rank's collective at this place of its chain; nullopt: it has no more.
  std::optional<Call> At(int rank, size_t place) const {
    const Chain& chain = chains_[static_cast<size_t>(of_rank_[static_cast<size_t>(rank)])];
    if (place >= chain.launches.size()) return std::nullopt;
    const int index = chain.launches[place];
    Call call{&chain.schedule->launches[static_cast<size_t>(index)], rank, index};
    call.group = GroupOf(*chain.schedule, rank, call.work().group);
    return call;
  }

 private:
  // A schedule says its own groups; another rank that shares it has others by the same keys.
  int GroupOf(const Schedule& schedule, int rank, int group) const {
    return rank == schedule.rank ? group : groups_.GroupOf(groups_.KeyOf(group), rank);
  }

  bool IsMember(const Schedule& schedule, int rank, int group) const {
    if (rank != schedule.rank) return GroupOf(schedule, rank, group) >= 0;
    const std::vector<int>& members = program_.groups[static_cast<size_t>(group)].ranks;
    return std::ranges::find(members, rank) != members.end();
  }

  // Every rank is a member of the groups of its calls.
  absl::Status CheckMembers() const {
    std::vector<std::vector<int>> called(chains_.size());  // groups, each once
    for (size_t c = 0; c < chains_.size(); ++c) {
      for (const int launch : chains_[c].launches) {
        called[c].push_back(
            std::get<CollectiveLaunch>(chains_[c].schedule->launches[static_cast<size_t>(launch)].work).group);
      }
      std::ranges::sort(called[c]);
      called[c].erase(std::unique(called[c].begin(), called[c].end()), called[c].end());
    }
    for (int rank = 0; rank < ranks(); ++rank) {
      const auto chain = static_cast<size_t>(of_rank_[static_cast<size_t>(rank)]);
      for (const int group : called[chain]) {
        if (IsMember(*chains_[chain].schedule, rank, group)) continue;
        return NoMember(chains_[chain], rank, group);
      }
    }
    return absl::OkStatus();
  }

  absl::Status NoMember(const Chain& chain, int rank, int group) const {
    for (const int launch : chain.launches) {
      const Launch& call = chain.schedule->launches[static_cast<size_t>(launch)];
      if (std::get<CollectiveLaunch>(call.work).group != group) continue;
      return Internal("{} is of group {}, where the rank is no member", Describe(Call{&call, rank, launch}),
                      ToString(program_.groups[static_cast<size_t>(group)], program_.meshes));
    }
    return absl::OkStatus();
  }

  const Program& program_;
  const std::span<const Schedule* const> by_rank_;
  const GroupTable groups_;
  std::vector<Chain> chains_;
  std::vector<int> of_rank_;  // by rank: its chain
};

// Runs all ranks as far as they get: a collective happens when it is the next of every member of its group. What the
// ranks pass in this way is a global order that all chains embed in; if they stop before the end there is none.
class Execution {
 public:
  Execution(const Program& program, const Chains& chains)
      : program_(program),
        chains_(chains),
        next_(static_cast<size_t>(chains.ranks()), 0),
        arrived_(program.groups.size(), 0) {}

  absl::Status Run() {
    for (int rank = 0; rank < chains_.ranks(); ++rank) Arrive(rank);
    while (!complete_.empty()) {
      const int group = complete_.back();
      complete_.pop_back();
      arrived_[group] = 0;
      const std::vector<int>& members = program_.groups[group].ranks;
      std::vector<Call> calls;
      calls.reserve(members.size());
      for (size_t m = 0; m < members.size(); ++m) {
        calls.push_back(*chains_.At(members[m], next_[members[m]]));
        calls.back().self = static_cast<int>(m);
      }
      RETURN_IF_ERROR(CheckMeeting(program_, calls));
      for (const int rank : members) {
        ++next_[rank];
        Arrive(rank);
      }
    }
    return CheckDone();
  }

 private:
  std::optional<Call> Next(int rank) const { return chains_.At(rank, next_[rank]); }

  void Arrive(int rank) {
    const std::optional<Call> call = Next(rank);
    if (!call) return;
    if (++arrived_[call->group] == program_.groups[call->group].ranks.size()) complete_.push_back(call->group);
  }

  // A rank that waits for ever waits for a member that is elsewhere, or has ended.
  absl::Status CheckDone() const {
    for (int rank = 0; rank < chains_.ranks(); ++rank) {
      const std::optional<Call> waiting = Next(rank);
      if (!waiting) continue;
      const int group = waiting->group;
      for (const int peer : program_.groups[group].ranks) {
        const std::optional<Call> other = Next(peer);
        if (!other) {
          return Internal("{} waits for rank {}, whose step has no more collectives", Describe(*waiting), peer);
        }
        if (other->group == group) continue;
        return Internal(
            "no order of the collectives serves all ranks: {} of group {} waits for rank {}, which is at {} "
            "of group {}",
            Describe(*waiting), ToString(program_.groups[group], program_.meshes), peer, Describe(*other),
            ToString(program_.groups[other->group], program_.meshes));
      }
    }
    return absl::OkStatus();
  }

  const Program& program_;
  const Chains& chains_;
  std::vector<size_t> next_;     // by rank: position in its chain
  std::vector<size_t> arrived_;  // by group: how many members are at it
  std::vector<int> complete_;    // groups that all members are at
};

absl::Status CheckCount(const Program& program, size_t schedules) {
  if (static_cast<int>(schedules) == program.ranks()) return absl::OkStatus();
  return Internal("{} schedules for {} ranks", schedules, program.ranks());
}

}  // namespace

absl::Status VerifyCollectives(const Program& program, std::span<const Schedule* const> by_rank) {
  RETURN_IF_ERROR(CheckCount(program, by_rank.size()));
  Chains chains(program, by_rank);
  RETURN_IF_ERROR(chains.Collect());
  RETURN_IF_ERROR(Execution(program, chains).Run());
  return chains.CheckOrder();
}

absl::Status VerifyCollectives(const Program& program, std::span<const Schedule> schedules) {
  RETURN_IF_ERROR(CheckCount(program, schedules.size()));
  std::vector<const Schedule*> by_rank;
  for (const Schedule& schedule : schedules) {
    const size_t rank = by_rank.size();
    if (schedule.rank != static_cast<int>(rank)) return Internal("schedule {} is of rank {}", rank, schedule.rank);
    by_rank.push_back(&schedule);
  }
  return VerifyCollectives(program, by_rank);
}

}  // namespace partita
