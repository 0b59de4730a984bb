#include "partitioner/repair/recompute_tables.h"

#include <algorithm>
#include <limits>
#include <map>
#include <string>
#include <unordered_map>
#include <utility>

#include "graph/ir/gate.h"
#include "graph/ir/generated_name.h"
#include "graph/ir/op_definition.h"

namespace partita {
namespace {

constexpr int kNone = -1;

// Which nodes of a program belong to which stretch, and which of them a block computes again.
class StretchNodes {
 public:
  StretchNodes(const Graph& entry, const std::vector<Stretch>& stretches)
      : entry_(entry),
        stretches_(stretches),
        needed_(entry.nodes().size(), false),
        needed_last_(entry.nodes().size(), false) {
    for (size_t s = 0; s < stretches.size(); ++s) {
      for (const std::string& name : stretches[s]) stretch_of_[name] = static_cast<int>(s);
    }
    FindNeeded();
  }

  // Of nodes that the compiler has added, that for which they were added; kNone: of none.
  int StretchOf(NodeId id) const {
    const auto found = id < 0 ? stretch_of_.end() : stretch_of_.find(UserNameOf(entry_.name(id)));
    return found == stretch_of_.end() ? kNone : found->second;
  }

  // Whether its first output is that which passes on.
  bool MakesOutput(NodeId id, int stretch) const {
    return id >= 0 && !entry_.node(id).op->move && UserNameOf(entry_.name(id)) == stretches_[stretch].back();
  }

  // Whether a block computes it again that goes on behind its stretch, or that ends with it.
  bool Needed(NodeId id) const { return needed_[id]; }
  bool NeededLast(NodeId id) const { return needed_last_[id]; }

 private:
  // What the backward pass reads, and what that is made from; of the stretch that ends a block not the first output,
  // which is kept, and what only that is made from.
  void FindNeeded() {
    std::vector<bool> read(entry_.values().size(), false), read_last = read;
    for (auto id = static_cast<NodeId>(entry_.nodes().size()); id-- > 0;) {
      const Node& node = entry_.node(id);
      const int stretch = node.phase == Phase::kForward ? StretchOf(id) : kNone;
      if (stretch >= 0) {
        const bool output = MakesOutput(id, stretch);
        needed_[id] = output || std::ranges::any_of(node.outputs, [&](ValueId value) { return read[value]; });
        needed_last_[id] = std::any_of(node.outputs.begin() + (output ? 1 : 0), node.outputs.end(),
                                       [&](ValueId value) { return read_last[value]; });
      }
      const bool backward = node.phase == Phase::kBackward;
      for (const ValueId input : node.inputs) {
        if (input == kNoValue) continue;
        if (backward || needed_[id]) read[input] = true;
        if (backward || needed_last_[id]) read_last[input] = true;
      }
    }
  }

  const Graph& entry_;
  const std::vector<Stretch>& stretches_;
  std::unordered_map<std::string, int> stretch_of_;  // by the name of a node
  std::vector<bool> needed_, needed_last_;           // by node
};

// A lifetime as the step's launches show it.
struct Kept {
  int stretch = kNone;       // that has written it last, in the forward pass
  bool output = false;       // as what passes on
  int last_forward = kNone;  // launches that touch it
  int first_backward = kNone;

  bool idle() const { return stretch >= 0 && first_backward > last_forward && last_forward >= 0; }
};

// What each lifetime of a schedule is kept for.
class KeptLifetimes {
 public:
  KeptLifetimes(const Graph& entry, const Schedule& schedule, const StretchNodes& nodes)
      : entry_(entry), schedule_(schedule), nodes_(nodes), kept_(schedule.lifetimes.size()) {}

  std::vector<Kept> Find() {
    std::vector<std::vector<int>> beginning(schedule_.launches.size()), ending = beginning;
    for (size_t i = 0; i < schedule_.lifetimes.size(); ++i) {
      const Lifetime& lifetime = schedule_.lifetimes[i];
      if (lifetime.persistent || lifetime.scratch) continue;
      beginning[lifetime.first].push_back(static_cast<int>(i));
      ending[lifetime.last].push_back(static_cast<int>(i));
    }
    for (int l = 0; l < static_cast<int>(schedule_.launches.size()); ++l) {
      for (const int i : beginning[l]) active_[schedule_.lifetimes[i].range.offset] = i;
      for (const Access& access : schedule_.launches[l].accesses) Note(l, access);
      for (const int i : ending[l]) active_.erase(schedule_.lifetimes[i].range.offset);
    }
    return std::move(kept_);
  }

 private:
  void Note(int l, const Access& access) {
    auto place = active_.upper_bound(access.range.offset);
    if (place == active_.begin()) return;
    const ByteRange& range = schedule_.lifetimes[(--place)->second].range;
    if (access.range.offset >= range.offset + range.bytes) return;
    const Launch& launch = schedule_.launches[l];
    Kept& kept = kept_[place->second];
    if (launch.phase != Phase::kForward) {
      if (kept.first_backward < 0) kept.first_backward = l;
      return;
    }
    kept.last_forward = l;
    const int stretch = nodes_.StretchOf(launch.node);
    if (!access.write || stretch < 0) return;
    kept.stretch = stretch;
    kept.output = nodes_.MakesOutput(launch.node, stretch) &&
                  schedule_.values[entry_.node(launch.node).outputs[0]].offset == access.range.offset;
  }

  const Graph& entry_;
  const Schedule& schedule_;
  const StretchNodes& nodes_;
  std::vector<Kept> kept_;         // by lifetime
  std::map<int64_t, int> active_;  // lifetimes by where they begin in the arena
};

// Bytes that come and go, by launch.
class ByteCourse {
 public:
  void Add(int first, int last, int64_t bytes) {  // in use from one launch to the other, both included
    changes_[first] += bytes;
    changes_[last + 1] -= bytes;
  }
  int64_t Most() const {
    int64_t most = 0, bytes = 0;
    for (const auto& [launch, change] : changes_) most = std::max(most, bytes += change);
    return most;
  }

 private:
  std::map<int, int64_t> changes_;
};

class Tables {
 public:
  Tables(const Schedule& schedule, const RankTimeline& timeline, const StretchNodes& nodes,
         const std::vector<Stretch>& stretches, const std::vector<Kept>& kept)
      : schedule_(schedule), timeline_(timeline), nodes_(nodes), kept_(kept) {
    tables_.stretches.resize(stretches.size());
    for (size_t s = 0; s < stretches.size(); ++s) {
      const Stretch& names = stretches[s];
      tables_.stretches[s].name = names.size() == 1 ? names[0] : names.front() + " to " + names.back();
    }
  }

  RecomputeTables Make() {
    CountKept();
    CountTurns();
    return std::move(tables_);
  }

 private:
  void CountKept() {
    std::vector<ByteCourse> inside(tables_.stretches.size()), output = inside;
    drops_needed_.assign(tables_.stretches.size(), std::numeric_limits<int>::max());
    for (size_t i = 0; i < kept_.size(); ++i) {
      const Kept& kept = kept_[i];
      if (!kept.idle()) continue;
      (kept.output ? output : inside)[kept.stretch].Add(kept.last_forward, kept.first_backward,
                                                        schedule_.lifetimes[i].range.bytes);
      const size_t ends = kept.stretch + (kept.output ? 1 : 0);  // the stretch that is the first to read it again
      if (ends < drops_needed_.size()) drops_needed_[ends] = std::min(drops_needed_[ends], kept.first_backward);
    }
    for (size_t s = 0; s < tables_.stretches.size(); ++s) {
      tables_.stretches[s].inside = inside[s].Most();
      tables_.stretches[s].output = output[s].Most();
    }
  }

  // What belongs to no stretch has the turn of what was before it.
  void CountTurns() {
    std::vector<int64_t> change(schedule_.launches.size() + 1, 0);
    for (const Lifetime& lifetime : schedule_.lifetimes) {
      change[lifetime.first] += lifetime.range.bytes;
      change[lifetime.last + 1] -= lifetime.range.bytes;
    }
    int turn = kNone;
    int64_t bytes = 0;
    for (int l = 0; l < static_cast<int>(schedule_.launches.size()); ++l) {
      const Launch& launch = schedule_.launches[l];
      bytes += change[l];
      const int own = nodes_.StretchOf(launch.node);
      if (own >= 0) turn = own;
      if (launch.phase == Phase::kForward && own >= 0) CountSeconds(l, tables_.stretches[own]);
      int64_t& most = turn < 0 || launch.phase == Phase::kUpdate                    ? tables_.elsewhere
                      : launch.phase == Phase::kBackward && l < drops_needed_[turn] ? tables_.stretches[turn].before
                                                                                    : tables_.stretches[turn].most;
      most = std::max(most, bytes);
    }
  }

  void CountSeconds(int l, RecomputeStretch& stretch) const {
    const NodeId node = schedule_.launches[l].node;
    if (!nodes_.Needed(node)) return;
    const double seconds = timeline_.spans[l].end - timeline_.spans[l].begin;
    stretch.seconds += seconds;
    if (!nodes_.NeededLast(node)) stretch.last_seconds += seconds;
  }

  const Schedule& schedule_;
  const RankTimeline& timeline_;
  const StretchNodes& nodes_;
  const std::vector<Kept>& kept_;
  RecomputeTables tables_;
  std::vector<int>
      drops_needed_;  // by stretch: the first backward launch that needs what a block drops that ends there
};

// By stretch: whether a block can end there at no cost. What passes on is kept, and, as the nodes are after fusion,
// nothing else passes but scalars, and what updates of states read.
std::vector<bool> Ends(const Graph& entry, const StretchNodes& nodes, const std::vector<Stretch>& stretches,
                       const std::vector<Kept>& kept) {
  std::vector<bool> ends(stretches.size(), false);
  for (const Kept& each : kept) {
    if (each.idle() && each.output) ends[each.stretch] = true;
  }
  for (NodeId id = 0; id < static_cast<NodeId>(entry.nodes().size()); ++id) {
    const Node& node = entry.node(id);
    const int reader = node.phase == Phase::kForward && GateOf(*node.op) < 0 ? nodes.StretchOf(id) : kNone;
    for (const ValueId input : node.inputs) {
      if (input == kNoValue || Elements(entry.type(input).shape) <= 1) continue;
      const NodeId producer = entry.value(input).producer;
      const int from = nodes.StretchOf(producer);
      if (from < 0 || from >= reader) continue;
      const bool output = UserNameOf(entry.name(producer)) == stretches[from].back();
      std::fill(ends.begin() + from + (output ? 1 : 0), ends.begin() + reader, false);
    }
  }
  return ends;
}

// Each stretch up to where a block can end.
std::vector<Stretch> Joined(const std::vector<Stretch>& stretches, const std::vector<bool>& ends) {
  std::vector<Stretch> joined;
  for (size_t s = 0; s < stretches.size(); ++s) {
    if (s == 0 || ends[s - 1]) joined.emplace_back();
    joined.back().insert(joined.back().end(), stretches[s].begin(), stretches[s].end());
  }
  return joined;
}

}  // namespace

RecomputeCosts RecomputeCostsOf(const Graph& entry, const Schedule& schedule, const RankTimeline& timeline,
                                const std::vector<Stretch>& stretches) {
  const StretchNodes narrow(entry, stretches);
  const std::vector<Kept> kept = KeptLifetimes(entry, schedule, narrow).Find();
  RecomputeCosts costs{Joined(stretches, Ends(entry, narrow, stretches, kept)), {}};
  const StretchNodes nodes(entry, costs.stretches);
  const std::vector<Kept> joined = KeptLifetimes(entry, schedule, nodes).Find();
  costs.tables = Tables(schedule, timeline, nodes, costs.stretches, joined).Make();
  return costs;
}

}  // namespace partita
