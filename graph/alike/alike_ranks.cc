#include "graph/alike/alike_ranks.h"

#include <algorithm>
#include <set>

namespace partita {
namespace {

using HeldBlock = std::optional<Box>;

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

// Whether blocks of such a layout that begin elsewhere along a dimension, of `rank` ones, are used alike.
bool MayMove(const Layout& layout, size_t dimension, size_t rank) {
  if (dimension > 0 && dimension + 1 < rank) return false;
  return std::ranges::none_of(layout, [&](const AxisLayout& axis) {
    return axis.split() && axis.windows && static_cast<size_t>(axis.dimension) == dimension;
  });
}

bool MayMove(const Layout& layout, const Shape& displaced) {
  for (size_t d = 0; d < displaced.size(); ++d) {
    if (displaced[d] != 0 && !MayMove(layout, d, displaced.size())) return false;
  }
  return true;
}

void Mix(size_t& hash, int64_t value) {
  hash = (hash ^ static_cast<size_t>(value)) * 0x9E3779B97F4A7C15u + (hash >> 29);
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
  for (const Value& value : graph_.values()) of_value_.push_back(FormOf(value, true));
  const Graph& all = program_.state_graph();
  std::set<std::pair<int, int>> own_states;
  for (const State& state : all.states()) {
    const Value& value = all.value(state.value);
    of_state_.push_back(FormOf(value, &all == &graph_));
    const ValueId own = &all == &graph_ ? state.value : graph_.Find(value.name);
    if (own != kNoValue) own_states.emplace(of_value_[static_cast<size_t>(own)], of_state_.back());
  }
  std::erase_if(own_states, [](const auto& forms) { return forms.first == forms.second; });
  own_states_.assign(own_states.begin(), own_states.end());
  std::set<Meeting> meetings;
  for (const Node& node : graph_.nodes()) {
    if (!node.op->move) continue;
    const int key = GroupsOfKey(KeyOf(graph_, node));
    Groups& groups = groups_[static_cast<size_t>(key)];
    groups.uneven = groups.uneven || node.inputs.size() != node.outputs.size();
    groups.knows_places = groups.knows_places || KnowsPlaces(*node.op->move);
    for (size_t m = 0; m < std::min(node.inputs.size(), node.outputs.size()); ++m) {
      meetings.emplace(*node.op->move, key, of_value_[static_cast<size_t>(node.inputs[m])],
                       of_value_[static_cast<size_t>(node.outputs[m])]);
    }
  }
  meetings_.assign(meetings.begin(), meetings.end());
}

int AlikeRanks::FormOf(const Value& value, bool in_graph) {
  std::vector<int>& known = forms_of_[{value.layout.mesh, value.type.shape}];
  for (const int form : known) {
    if (forms_[static_cast<size_t>(form)].layout != value.layout) continue;
    forms_[static_cast<size_t>(form)].in_graph |= in_graph;
    return form;
  }
  known.push_back(static_cast<int>(forms_.size()));
  forms_.push_back({value.layout, value.type.shape, in_graph});
  return known.back();
}

int AlikeRanks::GroupsOfKey(const GroupKey& key) {
  const auto found = std::ranges::find(groups_, key, &Groups::key);
  if (found != groups_.end()) return static_cast<int>(found - groups_.begin());
  Groups& groups = groups_.emplace_back();
  groups.key = key;
  groups.members = GroupsOf(key, graph_.meshes());
  groups.ids.assign(groups.members.size(), -1);
  groups.of_rank.assign(static_cast<size_t>(program_.ranks()), {-1, -1});
  for (size_t g = 0; g < groups.members.size(); ++g) {
    const std::vector<int>& members = groups.members[g];
    for (size_t m = 0; m < members.size(); ++m) {
      groups.of_rank[static_cast<size_t>(members[m])] = {static_cast<int>(g), static_cast<int>(m)};
    }
  }
  for (size_t id = 0; id < program_.groups.size(); ++id) {
    if (program_.groups[id].key != key) continue;
    const int group = groups.of_rank[static_cast<size_t>(program_.groups[id].ranks[0])].first;
    groups.ids[static_cast<size_t>(group)] = static_cast<int>(id);
  }
  return static_cast<int>(groups_.size()) - 1;
}

std::optional<Box> AlikeRanks::BlockOf(int form, int rank) const {
  const Form& of = forms_[static_cast<size_t>(form)];
  return LocalBox(of.layout, of.shape, graph_.mesh(of.layout), rank);
}

RankShare AlikeRanks::ShareOf(int rank) const {
  RankShare share{rank, {}};
  share.blocks.reserve(forms_.size());
  for (int form = 0; form < static_cast<int>(forms_.size()); ++form) share.blocks.push_back(BlockOf(form, rank));
  return share;
}

// Of all that Alike compares for equality.
size_t AlikeRanks::HashOf(const RankShare& share) const {
  size_t hash = 0;
  for (size_t f = 0; f < forms_.size(); ++f) {
    const HeldBlock& block = share.blocks[f];
    Mix(hash, block ? 1 : 0);
    if (!block) continue;
    for (size_t d = 0; d < block->size.size(); ++d) {
      Mix(hash, block->size[d]);
      if (forms_[f].in_graph && !MayMove(forms_[f].layout, d, block->size.size())) Mix(hash, block->offset[d]);
    }
  }
  for (const Groups& groups : groups_) {
    const auto [group, place] = groups.of_rank[static_cast<size_t>(share.rank)];
    Mix(hash, group < 0 ? 0 : 1);
    if (groups.knows_places) Mix(hash, place);
  }
  return hash;
}

bool AlikeRanks::Alike(const RankShare& from, const RankShare& to) {
  const std::optional<std::vector<Shape>> displaced = DisplaceForms(from, to);
  if (!displaced || !StatesLieAsThere(to)) return false;
  return std::ranges::all_of(groups_, [&](const Groups& groups) { return GroupsAlike(groups, from.rank, to.rank); }) &&
         std::ranges::all_of(meetings_, [&](const Meeting& each) { return MeetAlike(each, from, to, *displaced); });
}

std::optional<Displacement> AlikeRanks::Between(const RankShare& from, const RankShare& to) {
  if (!Alike(from, to)) return std::nullopt;
  const std::vector<Shape> displaced = *DisplaceForms(from, to);
  Displacement displacement;
  for (const int form : of_value_) displacement.values.push_back(displaced[static_cast<size_t>(form)]);
  for (const int form : of_state_) displacement.states.push_back(displaced[static_cast<size_t>(form)]);
  for (const Groups& groups : groups_) {
    const int group = groups.of_rank[static_cast<size_t>(from.rank)].first;
    if (group < 0 || groups.ids[static_cast<size_t>(group)] < 0) continue;
    const int other = groups.of_rank[static_cast<size_t>(to.rank)].first;
    displacement.groups[groups.ids[static_cast<size_t>(group)]] = groups.ids[static_cast<size_t>(other)];
  }
  return displacement;
}

std::optional<std::vector<Shape>> AlikeRanks::DisplaceForms(const RankShare& from, const RankShare& to) const {
  std::vector<Shape> forms;
  forms.reserve(forms_.size());
  for (size_t f = 0; f < forms_.size(); ++f) {
    std::optional<Shape> displaced = Offset(from.blocks[f], to.blocks[f]);
    if (!displaced || (forms_[f].in_graph && !MayMove(forms_[f].layout, *displaced))) return std::nullopt;
    forms.push_back(*std::move(displaced));
  }
  return forms;
}

// Every entry point has the states of the program in its arena; those of this graph must lie as they do there.
bool AlikeRanks::StatesLieAsThere(const RankShare& share) const {
  return std::ranges::all_of(own_states_, [&](const auto& forms) {
    const HeldBlock &own = share.blocks[static_cast<size_t>(forms.first)],
                    &there = share.blocks[static_cast<size_t>(forms.second)];
    return !own || own == there;
  });
}

bool AlikeRanks::GroupsAlike(const Groups& groups, int from, int to) const {
  const int a = groups.of_rank[static_cast<size_t>(from)].first, b = groups.of_rank[static_cast<size_t>(to)].first;
  if ((a < 0) != (b < 0)) return false;
  if (a < 0) return true;
  if (groups.uneven || (groups.ids[static_cast<size_t>(a)] < 0) != (groups.ids[static_cast<size_t>(b)] < 0)) {
    return false;
  }
  return groups.members[static_cast<size_t>(a)].size() == groups.members[static_cast<size_t>(b)].size();
}

bool AlikeRanks::MeetAlike(const Meeting& meeting, const RankShare& from, const RankShare& to,
                           const std::vector<Shape>& displaced) {
  const auto [kind, key, input, output] = meeting;
  const Groups& groups = groups_[static_cast<size_t>(key)];
  const auto [group, place] = groups.of_rank[static_cast<size_t>(from.rank)];
  const auto [other, other_place] = groups.of_rank[static_cast<size_t>(to.rank)];
  if (group < 0) return true;
  if (KnowsPlaces(kind) && place != other_place) return false;
  const auto holds = [&](int form) {
    const HeldBlock& block = from.blocks[static_cast<size_t>(form)];
    return block && !block->empty();
  };
  const Shape &before = displaced[static_cast<size_t>(input)], &after = displaced[static_cast<size_t>(output)];
  if (holds(input) && holds(output) && KeepsItsBlock(kind) && before != after) return false;
  if (!KnowsBlocks(kind)) return true;
  const Shape& by = kind == MoveKind::kAllGather || !holds(input) ? after : before;
  return BlocksAlike(input, key, group, other, by) && BlocksAlike(output, key, group, other, by);
}

bool AlikeRanks::BlocksAlike(int form, int groups, int from, int to, const Shape& displaced) {
  if (displaced.empty() && from == to) return true;
  const auto [found, is_new] = compared_.try_emplace({form, groups, from, to, displaced}, true);
  if (!is_new) return found->second;
  const std::vector<std::vector<int>>& members = groups_[static_cast<size_t>(groups)].members;
  const std::vector<int>&of_from = members[static_cast<size_t>(from)], &of_to = members[static_cast<size_t>(to)];
  for (size_t r = 0; r < of_from.size() && found->second; ++r) {
    HeldBlock block = BlockOf(form, of_from[r]);
    for (size_t d = 0; block && d < displaced.size(); ++d) block->offset[d] += displaced[d];
    found->second = block == BlockOf(form, of_to[r]);
  }
  return found->second;
}

}  // namespace partita
