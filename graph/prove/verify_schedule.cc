#include "graph/prove/verify_schedule.h"

#include <algorithm>
#include <optional>

#include "absl/container/btree_map.h"
#include "graph/prove/access_log.h"
#include "graph/prove/content_log.h"
#include "graph/prove/happens_before.h"
#include "graph/prove/operands_apart.h"
#include "runtime/base/status.h"

namespace partita {
namespace {

bool IsHost(const Launch& launch, bool begin) {
  const auto* host = std::get_if<HostLaunch>(&launch.work);
  return host != nullptr && host->begin == begin;
}

absl::Status CheckOperands(const Schedule& schedule, int index) {
  const auto* kernel = std::get_if<KernelLaunch>(&schedule.launches[index].work);
  if (kernel != nullptr &&
      (kernel->inputs.size() != kernel->node.inputs.size() || kernel->outputs.size() != kernel->node.outputs.size())) {
    return Internal("launch {} has other operands than its node", DescribeLaunch(schedule, index));
  }
  return absl::OkStatus();
}

absl::Status CheckAccesses(const Schedule& schedule, int index) {
  const Launch& launch = schedule.launches[index];
  for (const Access& access : launch.accesses) {
    const ByteRange& range = access.range;
    if (range.offset < 0 || range.bytes <= 0 || range.offset > schedule.memory.total - range.bytes) {
      return Internal("launch {} touches bytes [{}, {}) of an arena of {}", DescribeLaunch(schedule, index),
                      range.offset, range.offset + range.bytes, schedule.memory.total);
    }
  }
  const std::vector<Access> touched = AccessesOf(launch);
  for (size_t a = 0; a < touched.size(); ++a) {
    if (!schedule.tensors.empty() && touched[a].tensor == kNoTensor) {
      return Internal("launch {} does not say what it {} at bytes [{}, {})", DescribeLaunch(schedule, index),
                      touched[a].write ? "writes" : "reads", touched[a].range.offset, touched[a].end());
    }
    const auto covers = [&](const Access& declared) {
      return declared.write == touched[a].write && declared.range.offset <= touched[a].range.offset &&
             declared.end() >= touched[a].end() && (declared.columns.all() || declared.columns == touched[a].columns) &&
             declared.tensor == touched[a].tensor && declared.origin == touched[a].origin;
    };
    const auto& declared = launch.accesses;
    const bool same_place = a < declared.size() && covers(declared[a]);  // as a rule: no search
    if (same_place || std::any_of(declared.begin(), declared.end(), covers)) continue;
    return Internal("launch {} {} bytes [{}, {}) and does not declare it", DescribeLaunch(schedule, index),
                    touched[a].write ? "writes" : "reads", touched[a].range.offset,
                    touched[a].range.offset + touched[a].range.bytes);
  }
  return absl::OkStatus();
}

absl::Status CheckTensors(const Schedule& schedule) {
  const auto known = [&](TensorId tensor) {
    return tensor >= 0 && tensor < static_cast<TensorId>(schedule.tensors.size());
  };
  for (const CarriedTensor& carried : schedule.carried) {
    if (!known(carried.state) || !known(carried.update)) return Internal("a state is carried that is no tensor");
  }
  for (size_t l = 0; l < schedule.launches.size(); ++l) {
    for (const Access& access : schedule.launches[l].accesses) {
      if (access.tensor == kNoTensor || known(access.tensor)) continue;
      return Internal("launch {} touches tensor {} of {}", DescribeLaunch(schedule, static_cast<int>(l)), access.tensor,
                      schedule.tensors.size());
    }
  }
  return absl::OkStatus();
}

// What the host stages it writes as it begins a step, and what the step reports it reads as it ends it.
absl::Status CheckPlacements(const Schedule& schedule) {
  if (schedule.tensors.empty()) return absl::OkStatus();
  for (const bool begin : {true, false}) {
    const std::vector<Access>& accesses = (begin ? schedule.launches.front() : schedule.launches.back()).accesses;
    for (const Placement& placement : begin ? schedule.inputs : schedule.results) {
      if (placement.offset < 0 || placement.tensor.bytes() == 0) continue;
      const Access wanted{{placement.offset, placement.tensor.bytes()}, begin, {}, placement.content, placement.offset};
      if (std::ranges::find(accesses, wanted) != accesses.end()) continue;
      return Internal("{} '{}' at byte {} is not what the host {} there", begin ? "input" : "result", placement.name,
                      placement.offset, begin ? "writes" : "reads");
    }
  }
  return absl::OkStatus();
}

absl::Status CheckStructure(const Schedule& schedule) {
  const int launches = static_cast<int>(schedule.launches.size());
  if (launches < 2 || !IsHost(schedule.launches.front(), true) || !IsHost(schedule.launches.back(), false)) {
    return Internal("a schedule begins and ends with a launch of the host");
  }
  RETURN_IF_ERROR(CheckTensors(schedule));
  for (int l = 0; l < launches; ++l) {
    const Launch& launch = schedule.launches[l];
    const bool host = std::holds_alternative<HostLaunch>(launch.work);
    if (host != (l == 0 || l == launches - 1) ||
        (host ? launch.stream != schedule.host_stream() : launch.stream < 0 || launch.stream >= schedule.streams)) {
      return Internal("launch {} is on the wrong stream or in the wrong place", DescribeLaunch(schedule, l));
    }
    for (int wait : launch.waits) {
      if (wait < 0 || wait >= l || schedule.launches[wait].stream == launch.stream) {
        return Internal("launch {} waits for launch {}, which is no earlier one of another stream",
                        DescribeLaunch(schedule, l), wait);
      }
    }
    RETURN_IF_ERROR(CheckOperands(schedule, l));
    RETURN_IF_ERROR(CheckAccesses(schedule, l));
    RETURN_IF_ERROR(CheckOperandsApart(schedule, l));
  }
  return CheckPlacements(schedule);
}

absl::Status NotOrdered(const Schedule& schedule, int before, int after, const char* why) {
  return Internal("launch {} does not end before launch {} starts: {}", DescribeLaunch(schedule, before),
                  DescribeLaunch(schedule, after), why);
}

absl::Status CheckOrder(const Schedule& schedule, const HappensBefore& ordered) {
  const int launches = static_cast<int>(schedule.launches.size());
  int collective = -1;
  for (int l = 1; l + 1 < launches; ++l) {
    if (!ordered.Holds(0, l)) return NotOrdered(schedule, 0, l, "the step has not begun");
    if (!ordered.Holds(l, launches - 1)) return NotOrdered(schedule, l, launches - 1, "the step would end too early");
    if (!std::holds_alternative<CollectiveLaunch>(schedule.launches[l].work)) continue;
    if (collective >= 0 && !ordered.Holds(collective, l)) {
      return NotOrdered(schedule, collective, l, "collectives run one after the other");
    }
    collective = l;
  }
  for (const OrderEdge& edge : schedule.order) {
    const bool exists = edge.before >= 0 && edge.after < launches && edge.before < edge.after;
    if (!exists) return Internal("order edge {} -> {} is none", edge.before, edge.after);
    if (!ordered.Holds(edge.before, edge.after))
      return NotOrdered(schedule, edge.before, edge.after, "a declared order");
  }
  return absl::OkStatus();
}

absl::Status CheckBytes(const Schedule& schedule, const HappensBefore& ordered) {
  const int launches = static_cast<int>(schedule.launches.size());
  AccessLog log(schedule, ordered);
  for (int l = 0; l < 2 * launches; ++l) {
    const std::vector<Access>& accesses = schedule.launches[l % launches].accesses;
    for (bool write : {false, true}) {  // a launch reads before it writes
      for (const Access& access : accesses) {
        if (access.write == write) RETURN_IF_ERROR(log.Add(access, l));
      }
    }
  }
  return absl::OkStatus();
}

absl::Status CheckContents(const Schedule& schedule) {
  if (schedule.tensors.empty()) return absl::OkStatus();
  ContentLog log(schedule);
  for (int step = 0; step < 2; ++step) {
    RETURN_IF_ERROR(WithContext(fmt::format("step {}", step + 1), log.AddStep()));
  }
  return absl::OkStatus();
}

// The lifetimes that are alive, by offset.
class Living {
 public:
  explicit Living(const Schedule& schedule) : schedule_(schedule) {}

  absl::Status Begin(const Lifetime& lifetime) {
    const auto next = alive_.lower_bound(lifetime.range.offset);
    if (next != alive_.end() && End(lifetime) > next->first) return Overlap(lifetime, *next->second);
    if (next != alive_.begin() && End(*std::prev(next)->second) > lifetime.range.offset) {
      return Overlap(lifetime, *std::prev(next)->second);
    }
    alive_.emplace_hint(next, lifetime.range.offset, &lifetime);
    return absl::OkStatus();
  }

  void Finish(const Lifetime& lifetime) { alive_.erase(lifetime.range.offset); }

  absl::Status CheckInside(const Access& access, int launch) const {
    const int64_t end = access.end();
    const auto after = alive_.upper_bound(access.range.offset);
    if (after != alive_.begin() && End(*std::prev(after)->second) >= end) return absl::OkStatus();
    return Internal("launch {} touches bytes [{}, {}), which belong to nothing that is alive then",
                    DescribeLaunch(schedule_, launch), access.range.offset, end);
  }

 private:
  static int64_t End(const Lifetime& lifetime) { return lifetime.range.offset + lifetime.range.bytes; }
  static absl::Status Overlap(const Lifetime& a, const Lifetime& b) {
    return Internal("'{}' at [{}, {}) and '{}' at [{}, {}) are alive at the same time", a.name, a.range.offset, End(a),
                    b.name, b.range.offset, End(b));
  }

  const Schedule& schedule_;
  absl::btree_map<int64_t, const Lifetime*> alive_;
};

absl::Status CheckLifetimes(const Schedule& schedule) {
  const int launches = static_cast<int>(schedule.launches.size());
  std::vector<const Lifetime*> beginning, ending;  // in the order in which they do
  for (const Lifetime& lifetime : schedule.lifetimes) {
    const bool whole = lifetime.first == 0 && lifetime.last == launches - 1;
    if (lifetime.first < 0 || lifetime.last < lifetime.first || lifetime.last >= launches ||
        lifetime.range.bytes <= 0 || (lifetime.persistent && !whole)) {
      return Internal("'{}' lives from launch {} to {} of {}", lifetime.name, lifetime.first, lifetime.last, launches);
    }
    beginning.push_back(&lifetime);
    ending.push_back(&lifetime);
  }
  std::sort(beginning.begin(), beginning.end(), [](const auto* a, const auto* b) { return a->first < b->first; });
  std::sort(ending.begin(), ending.end(), [](const auto* a, const auto* b) { return a->last < b->last; });
  Living living(schedule);
  auto next = beginning.begin(), ended = ending.begin();
  for (int l = 0; l < launches; ++l) {
    for (; ended != ending.end() && (*ended)->last < l; ++ended) living.Finish(**ended);
    for (; next != beginning.end() && (*next)->first == l; ++next) RETURN_IF_ERROR(living.Begin(**next));
    for (const Access& access : schedule.launches[l].accesses) RETURN_IF_ERROR(living.CheckInside(access, l));
  }
  return absl::OkStatus();
}

// What must be proven of launches that are each right in themselves.
absl::Status CheckTogether(const Schedule& schedule) {
  const HappensBefore ordered(schedule);
  RETURN_IF_ERROR(CheckOrder(schedule, ordered));
  RETURN_IF_ERROR(CheckBytes(schedule, ordered));
  RETURN_IF_ERROR(CheckContents(schedule));
  return CheckLifetimes(schedule);
}

// Whether CheckTogether finds the same in both: all that it reads is equal.
bool AreAlike(const Schedule& a, const Schedule& b) {
  const auto same_launch = [](const Launch& x, const Launch& y) {
    return x.stream == y.stream && x.work.index() == y.work.index() && x.waits == y.waits && x.accesses == y.accesses;
  };
  const auto same_state = [](const Placement& x, const Placement& y) {
    return x.offset == y.offset && x.content == y.content && x.tensor.bytes() == y.tensor.bytes();
  };
  const auto same_rounded = [&](const RoundedState& x, const RoundedState& y) {
    return x.state == y.state && same_state(x.placement, y.placement);
  };
  const auto same_lifetime = [](const Lifetime& x, const Lifetime& y) {
    return x.range == y.range && x.first == y.first && x.last == y.last && x.persistent == y.persistent;
  };
  const auto same_tensor = [](const ScheduledTensor& x, const ScheduledTensor& y) { return x.bytes == y.bytes; };
  const auto equal = [](const auto& x, const auto& y, const auto& same) {
    return std::equal(x.begin(), x.end(), y.begin(), y.end(), same);
  };
  return a.streams == b.streams && a.order == b.order && equal(a.launches, b.launches, same_launch) &&
         equal(a.states, b.states, same_state) && equal(a.rounded, b.rounded, same_rounded) &&
         equal(a.lifetimes, b.lifetimes, same_lifetime) && equal(a.tensors, b.tensors, same_tensor) &&
         a.carried == b.carried;
}

}  // namespace

absl::Status VerifySchedule(const Schedule& schedule) {
  RETURN_IF_ERROR(CheckStructure(schedule));
  return CheckTogether(schedule);
}

absl::Status VerifySchedules(std::span<const Schedule* const> schedules) {
  constexpr size_t kMostRemembered = 16;  // of those that differ
  std::vector<const Schedule*> proven;
  for (const Schedule* const schedule : schedules) {
    const std::string rank = fmt::format("rank {}", schedule->rank);
    RETURN_IF_ERROR(WithContext(rank, CheckStructure(*schedule)));
    const auto alike = [&](const Schedule* other) { return AreAlike(*other, *schedule); };
    if (std::any_of(proven.begin(), proven.end(), alike)) continue;
    RETURN_IF_ERROR(WithContext(rank, CheckTogether(*schedule)));
    if (proven.size() < kMostRemembered) proven.push_back(schedule);
  }
  return absl::OkStatus();
}

absl::Status VerifySchedules(std::span<const Schedule> schedules) {
  std::vector<const Schedule*> each;
  for (const Schedule& schedule : schedules) each.push_back(&schedule);
  return VerifySchedules(each);
}

}  // namespace partita
