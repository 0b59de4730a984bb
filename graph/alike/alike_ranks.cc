#include "graph/alike/alike_ranks.h"

#include <algorithm>
#include <utility>

#include "graph/ir/op_definition.h"

namespace partita {
namespace {

using HeldBlock = std::optional<Box>;

HeldBlock HeldBy(const Graph& graph, ValueId id, int rank) {
  const Value& value = graph.value(id);
  return LocalBox(value.layout, value.type.shape, graph.mesh(value.layout), rank);
}

// What is added to where `a` begins to get where `b` does; nullopt: they are not of one size.
std::optional<Shape> Offset(const Box& a, const Box& b) {
  if (a.size != b.size) return std::nullopt;
  if (a.offset == b.offset) return Shape();
  Shape displaced = b.offset;
  for (size_t d = 0; d < displaced.size(); ++d) displaced[d] -= a.offset[d];
  return displaced;
}

std::optional<Shape> Offset(const HeldBlock& a, const HeldBlock& b) {
  if (a.has_value() != b.has_value()) return std::nullopt;
  return a ? Offset(*a, *b) : Shape();
}

// Whether blocks of such a layout that are so displaced are used alike.
bool MayMove(const Layout& layout, const Shape& displaced) {
  for (size_t d = 1; d + 1 < displaced.size(); ++d) {
    if (displaced[d] != 0) return false;
  }
  return displaced.empty() || std::ranges::none_of(layout, [&](const AxisLayout& axis) {
           return axis.split() && axis.windows && displaced[static_cast<size_t>(axis.dimension)] != 0;
         });
}

// Whether it matters to what a rank does in a move which of the group it is.
bool KnowsPlaces(MoveKind kind) {
  return kind != MoveKind::kAllReduce && kind != MoveKind::kAllGather && kind != MoveKind::kReduceScatter &&
         kind != MoveKind::kSlice;
}

// Whether it matters what others of the group hold.
bool KnowsBlocks(MoveKind kind) { return kind != MoveKind::kAllReduce && kind != MoveKind::kDrop; }

// Whether what a rank holds before and after are displaced alike wherever it acts: not where it gets or gives one block
// of many, of which it only counts the elements.
bool KeepsItsBlock(MoveKind kind) { return kind != MoveKind::kAllGather && kind != MoveKind::kReduceScatter; }

}  // namespace

AlikeRanks::AlikeRanks(const Program& program, const Graph& entry) : program_(program), graph_(entry) {
  std::map<GroupKey, int> places;
  for (const Node& node : graph_.nodes()) {
    if (!node.op->move) continue;
    const auto [found, added] = places.try_emplace(KeyOf(graph_, node), static_cast<int>(keys_.size()));
    if (added) keys_.push_back(found->first);
    meetings_.push_back({&node, found->second});
  }
  const Graph& all = program_.state_graph();
  for (const State& state : all.states()) {
    own_states_.push_back(&all == &graph_ ? state.value : graph_.Find(all.value(state.value).name));
  }
}

std::optional<Displacement> AlikeRanks::Between(const RankShare& from, const RankShare& to) const {
  Displacement displacement;
  if (!DisplaceValues(from, to, displacement.values)) return std::nullopt;
  const std::optional<std::vector<Groups>> groups = DisplaceGroups(from.rank, to.rank, displacement.groups);
  if (!groups || !DisplaceStates(from, to, displacement.states)) return std::nullopt;
  const bool alike = std::ranges::all_of(meetings_, [&](const Meeting& meeting) {
    return MeetAlike(meeting, (*groups)[static_cast<size_t>(meeting.key)], from, displacement.values);
  });
  if (!alike) return std::nullopt;
  return displacement;
}

bool AlikeRanks::DisplaceValues(const RankShare& from, const RankShare& to, std::vector<Shape>& values) const {
  values.reserve(graph_.values().size());
  for (ValueId id = 0; id < static_cast<ValueId>(graph_.values().size()); ++id) {
    const std::optional<LocalTensor>&a = from.local.values[id], &b = to.local.values[id];
    if (a.has_value() != b.has_value()) return false;
    std::optional<Shape> displaced = a ? Offset(a->box, b->box) : Shape();
    if (!displaced || !MayMove(graph_.layout(id), *displaced)) return false;
    values.push_back(*std::move(displaced));
  }
  return true;
}

// The states of the program, which every entry point has in its arena, and those of this graph lie as they do there.
bool AlikeRanks::DisplaceStates(const RankShare& from, const RankShare& to, std::vector<Shape>& states) const {
  const Graph& all = program_.state_graph();
  for (size_t s = 0; s < own_states_.size(); ++s) {
    const HeldBlock b = HeldBy(all, all.states()[s].value, to.rank);
    std::optional<Shape> displaced = Offset(HeldBy(all, all.states()[s].value, from.rank), b);
    if (!displaced) return false;
    if (own_states_[s] != kNoValue) {
      const std::optional<LocalTensor>& own = to.local.values[own_states_[s]];
      if (own && (!b || own->box != *b)) return false;
    }
    states.push_back(*std::move(displaced));
  }
  return true;
}

std::optional<std::vector<AlikeRanks::Groups>> AlikeRanks::DisplaceGroups(int from, int to,
                                                                          std::map<int, int>& groups) const {
  std::vector<Groups> all;
  for (const GroupKey& key : keys_) {
    Groups& both = all.emplace_back(Groups{MembersOf(key, from), MembersOf(key, to), -1, -1});
    if (both.from.size() != both.to.size()) return std::nullopt;
    const int of_from = program_.GroupOf(key, from), of_to = program_.GroupOf(key, to);
    if ((of_from < 0) != (of_to < 0)) return std::nullopt;
    if (of_from >= 0) groups[of_from] = of_to;
    both.place_from = static_cast<int>(std::ranges::find(both.from, from) - both.from.begin());
    both.place_to = static_cast<int>(std::ranges::find(both.to, to) - both.to.begin());
  }
  return all;
}

// None if the rank has nothing to do with it.
std::vector<int> AlikeRanks::MembersOf(const GroupKey& key, int rank) const {
  const Mesh& mesh = graph_.meshes()[static_cast<size_t>(key.mesh)];
  std::vector<int> members;
  if (key.between()) {
    members = RanksOfBoth(mesh, graph_.meshes()[static_cast<size_t>(key.other)]);
    if (std::ranges::find(members, rank) == members.end()) members.clear();
  } else if (mesh.Has(rank)) {
    members = mesh.Group(rank, key.axes);
  }
  return members;
}

bool AlikeRanks::MeetAlike(const Meeting& meeting, const Groups& groups, const RankShare& from,
                           const std::vector<Shape>& displaced) const {
  if (groups.from.empty()) return true;
  const Node& node = *meeting.node;
  const MoveKind kind = *node.op->move;
  if (node.inputs.size() != node.outputs.size()) return false;
  if (KnowsPlaces(kind) && groups.place_from != groups.place_to) return false;
  for (size_t m = 0; m < node.inputs.size(); ++m) {
    const ValueId input = node.inputs[m], output = node.outputs[m];
    const bool both = from.local.Holds(input) && from.local.Holds(output);
    if (both && KeepsItsBlock(kind) && displaced[input] != displaced[output]) return false;
    if (!KnowsBlocks(kind)) continue;
    const bool by_output = kind == MoveKind::kAllGather || !from.local.Holds(input);
    const Shape& by = displaced[by_output ? output : input];
    if (!BlocksAlike(input, groups, by) || !BlocksAlike(output, groups, by)) return false;
  }
  return true;
}

bool AlikeRanks::BlocksAlike(ValueId value, const Groups& groups, const Shape& displaced) const {
  if (displaced.empty() && groups.from == groups.to) return true;
  for (size_t r = 0; r < groups.from.size(); ++r) {
    HeldBlock block = HeldBy(graph_, value, groups.from[r]);
    for (size_t d = 0; block && d < displaced.size(); ++d) block->offset[d] += displaced[d];
    if (block != HeldBy(graph_, value, groups.to[r])) return false;
  }
  return true;
}

}  // namespace partita
