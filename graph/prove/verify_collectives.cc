#include "graph/prove/verify_collectives.h"

#include <algorithm>
#include <numeric>
#include <vector>

#include "runtime/base/status.h"

namespace partita {
namespace {

// One rank's launch of a collective, and where it stands in the rank's chain.
struct Call {
  const Launch* launch = nullptr;
  int rank = 0;
  int index = 0;  // in the schedule
  int self = 0;   // position of the rank in the group

  const CollectiveLaunch& work() const { return std::get<CollectiveLaunch>(launch->work); }
};

std::string Describe(const Call& call) {
  return fmt::format("{} '{}' (launch {} of rank {})", Name(call.work().kind), call.launch->name, call.index,
                     call.rank);
}

absl::Status Disagree(const Program& program, const Call& a, const Call& b, const std::string& what) {
  return Internal("group {}: {} meets {}: {}", ToString(program.groups[a.work().group], program.meshes), Describe(a),
                  Describe(b), what);
}

int64_t Sum(const std::vector<int64_t>& counts) { return std::accumulate(counts.begin(), counts.end(), int64_t{0}); }

// What the group's first member and another one must agree on.
absl::Status CheckAgreement(const Program& program, const Call& first, const Call& other) {
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

// Every chain runs in the order of the program's nodes; one that is made in rounds has several in a row.
absl::Status CheckProgramOrder(const std::vector<Call>& chain) {
  for (size_t c = 1; c < chain.size(); ++c) {
    if (chain[c - 1].launch->node <= chain[c].launch->node) continue;
    return Internal("{} comes before {}: not the order of the program", Describe(chain[c - 1]), Describe(chain[c]));
  }
  return absl::OkStatus();
}

// One collective: the calls of all members of the group.
absl::Status CheckMeeting(const Program& program, const std::vector<Call>& calls) {
  for (const Call& call : calls) {
    RETURN_IF_ERROR(CheckAgreement(program, calls.front(), call));
    if (!CountsFit(call, calls.size())) {
      return Internal("group {}: {}: counts or root do not fit its kind",
                      ToString(program.groups[call.work().group], program.meshes), Describe(call));
    }
  }
  const bool pairs = calls.front().work().kind == CollectiveKind::kAllToAll;
  return pairs ? CheckPairs(program, calls) : absl::OkStatus();
}

using Chains = std::vector<std::vector<Call>>;  // by rank

absl::StatusOr<Chains> CollectChains(const Program& program, std::span<const Schedule> schedules) {
  Chains chains(schedules.size());
  for (size_t rank = 0; rank < schedules.size(); ++rank) {
    const Schedule& schedule = schedules[rank];
    if (schedule.rank != static_cast<int>(rank)) return Internal("schedule {} is of rank {}", rank, schedule.rank);
    for (size_t l = 0; l < schedule.launches.size(); ++l) {
      const auto* work = std::get_if<CollectiveLaunch>(&schedule.launches[l].work);
      if (work == nullptr) continue;
      Call call{&schedule.launches[l], schedule.rank, static_cast<int>(l), 0};
      if (work->group < 0 || work->group >= static_cast<int>(program.groups.size())) {
        return Internal("{} is of group {}, which does not exist", Describe(call), work->group);
      }
      const std::vector<int>& ranks = program.groups[work->group].ranks;
      const auto self = std::find(ranks.begin(), ranks.end(), schedule.rank);
      if (self == ranks.end()) {
        return Internal("{} is of group {}, where the rank is no member", Describe(call),
                        ToString(program.groups[work->group], program.meshes));
      }
      call.self = static_cast<int>(self - ranks.begin());
      chains[rank].push_back(call);
    }
  }
  return chains;
}

// Runs all ranks as far as they get: a collective happens when it is the next of every member of its group. What the
// ranks pass in this way is a global order that all chains embed in; if they stop before the end there is none.
class Execution {
 public:
  Execution(const Program& program, const Chains& chains)
      : program_(program), chains_(chains), next_(chains.size(), 0), arrived_(program.groups.size()) {}

  absl::Status Run() {
    for (size_t rank = 0; rank < chains_.size(); ++rank) Arrive(static_cast<int>(rank));
    while (!complete_.empty()) {
      const int group = complete_.back();
      complete_.pop_back();
      std::vector<Call> calls = std::move(arrived_[group]);
      arrived_[group].clear();
      std::sort(calls.begin(), calls.end(), [](const Call& a, const Call& b) { return a.self < b.self; });
      RETURN_IF_ERROR(CheckMeeting(program_, calls));
      for (const Call& call : calls) {
        ++next_[call.rank];
        Arrive(call.rank);
      }
    }
    return CheckDone();
  }

 private:
  const Call* Next(int rank) const {
    return next_[rank] < chains_[rank].size() ? &chains_[rank][next_[rank]] : nullptr;
  }

  void Arrive(int rank) {
    const Call* call = Next(rank);
    if (call == nullptr) return;
    const int group = call->work().group;
    arrived_[group].push_back(*call);
    if (arrived_[group].size() == program_.groups[group].ranks.size()) complete_.push_back(group);
  }

  // A rank that waits for ever waits for a member that is elsewhere, or has ended.
  absl::Status CheckDone() const {
    for (size_t rank = 0; rank < chains_.size(); ++rank) {
      const Call* waiting = Next(static_cast<int>(rank));
      if (waiting == nullptr) continue;
      const int group = waiting->work().group;
      for (int peer : program_.groups[group].ranks) {
        const Call* other = Next(peer);
        if (other == nullptr) {
          return Internal("{} waits for rank {}, whose step has no more collectives", Describe(*waiting), peer);
        }
        if (other->work().group == group) continue;
        return Internal(
            "no order of the collectives serves all ranks: {} of group {} waits for rank {}, which is at {} "
            "of group {}",
            Describe(*waiting), ToString(program_.groups[group], program_.meshes), peer, Describe(*other),
            ToString(program_.groups[other->work().group], program_.meshes));
      }
    }
    return absl::OkStatus();
  }

  const Program& program_;
  const Chains& chains_;
  std::vector<size_t> next_;                // by rank: position in its chain
  std::vector<std::vector<Call>> arrived_;  // by group: the members that are at it
  std::vector<int> complete_;               // groups that all members are at
};

}  // namespace

absl::Status VerifyCollectives(const Program& program, std::span<const Schedule> schedules) {
  const int ranks = program.ranks();
  if (static_cast<int>(schedules.size()) != ranks) {
    return Internal("{} schedules for {} ranks", schedules.size(), ranks);
  }
  ASSIGN_OR_RETURN(const Chains chains, CollectChains(program, schedules));
  RETURN_IF_ERROR(Execution(program, chains).Run());
  for (const std::vector<Call>& chain : chains) RETURN_IF_ERROR(CheckProgramOrder(chain));
  return absl::OkStatus();
}

}  // namespace partita
