#include "graph/moves/plan_move.h"

#include <algorithm>
#include <set>

#include "graph/moves/move_bytes.h"
#include "runtime/base/check.h"

namespace partita {
namespace {

std::vector<int> AxesSplitting(const Layout& layout, int dimension) {
  std::vector<int> axes;
  for (size_t a = 0; a < layout.size(); ++a) {
    if (layout[a].split() && layout[a].dimension == dimension) axes.push_back(static_cast<int>(a));
  }
  return axes;
}

bool Same(const Layout& from, const Layout& to, int axis, const Shape& shape, const Mesh& mesh) {
  if (from[axis] == to[axis]) return true;
  if (!from[axis].split()) return SameAxis(from[axis], to[axis], 0, mesh.axes[axis].size);
  const int d = from[axis].dimension;
  // Of cuts inside other blocks only equal words mean the same.
  const bool nested = AxesSplitting(from, d).size() > 1 || AxesSplitting(to, d).size() > 1;
  if (nested && from[axis] != to[axis]) return false;
  return SameAxis(from[axis], to[axis], shape[d], mesh.axes[axis].size);
}

// Splits of one dimension before and after; `changed`: some of them.
struct Splits {
  int count = 0;
  bool changed = false;
};

Splits CountSplits(const Layout& from, const Layout& to, int dimension) {
  Splits splits;
  for (size_t a = 0; a < from.size(); ++a) {
    const bool before = from[a].split() && from[a].dimension == dimension;
    const bool after = to[a].split() && to[a].dimension == dimension;
    splits.count += before + after;
    splits.changed = splits.changed || ((before || after) && from[a] != to[a]);
  }
  return splits;
}

// True if no dimension can be entangled, which is nearly always so and seen without a list.
bool NoneEntangled(const Layout& from, const Layout& to, const Shape& shape) {
  for (int d = 0; d < static_cast<int>(shape.size()); ++d) {
    const Splits splits = CountSplits(from, to, d);
    if (splits.count >= 2 && splits.changed) return false;
  }
  return true;
}

// Whether nested splits of one dimension change other than by adding or removing innermost ones.
bool Entangled(const std::vector<int>& before, const std::vector<int>& after, const Layout& from, const Layout& to,
               const Shape& shape, const Mesh& mesh) {
  if (before.size() + after.size() < 2) return false;
  const size_t shared = std::min(before.size(), after.size());
  bool prefix = true;
  for (size_t i = 0; i < shared; ++i) {
    prefix = prefix && before[i] == after[i] && Same(from, to, before[i], shape, mesh);
  }
  // One axis alone that only changes its cuts needs no company.
  if (!prefix && before.size() == 1 && before == after) return false;
  // Several splits that nest arise from the outermost inwards, which only slices can be sure to do.
  for (size_t i = shared; after.size() > shared + 1 && i < after.size(); ++i) {
    if (!from[after[i]].replicated()) prefix = false;
  }
  return !prefix;
}

// The axes of every dimension that is entangled, and of those that share an axis with it: no split may be left inside
// blocks that are gone.
std::set<int> EntangledAxes(const Layout& from, const Layout& to, const Shape& shape, const Mesh& mesh) {
  std::set<int> entangled;
  if (NoneEntangled(from, to, shape)) return entangled;
  for (size_t known = 1; known != entangled.size();) {
    known = entangled.size();
    for (int d = 0; d < static_cast<int>(shape.size()); ++d) {
      const std::vector<int> before = AxesSplitting(from, d), after = AxesSplitting(to, d);
      bool joins = Entangled(before, after, from, to, shape, mesh);
      for (const std::vector<int>* axes : {&before, &after}) {
        for (int a : *axes) joins = joins || entangled.count(a);
      }
      if (!joins) continue;
      entangled.insert(before.begin(), before.end());
      entangled.insert(after.begin(), after.end());
    }
  }
  return entangled;
}

// The same dimension, from its own blocks to what windows need.
bool AddsGhosts(const AxisLayout& from, const AxisLayout& to) {
  return from.split() && to.split() && from.dimension == to.dimension && to.windows && !from.windows;
}

// The move of one axis from one kind of layout to another (table of docs/derivation.md 2).
MoveKind MoveOf(const AxisLayout& from, const AxisLayout& to) {
  using Kind = AxisLayout::Kind;
  if (to.kind == Kind::kPartial) return MoveKind::kZeroExtend;
  switch (from.kind) {
    case Kind::kPartial:
      return to.kind == Kind::kReplicate ? MoveKind::kAllReduce
             : to.kind == Kind::kSplit   ? MoveKind::kReduceScatter
                                         : MoveKind::kSumReduce;
    case Kind::kSplit:
      CHECK(!from.windows);  // blocks of windows may leave out elements: nothing but them can be made of them
      if (AddsGhosts(from, to)) return MoveKind::kHalo;
      return to.kind == Kind::kReplicate ? MoveKind::kAllGather
             : to.kind == Kind::kAt      ? MoveKind::kGather
                                         : MoveKind::kRepartition;
    case Kind::kAt:
      return to.kind == Kind::kReplicate ? MoveKind::kBroadcast
             : to.kind == Kind::kSplit   ? MoveKind::kScatter
                                         : MoveKind::kSend;
    case Kind::kReplicate:
      return to.kind == Kind::kSplit ? MoveKind::kSlice : MoveKind::kDrop;
  }
  return MoveKind::kRepartition;
}

bool Free(const AxisLayout& from, const AxisLayout& to) { return from.replicated() && (to.split() || to.at()); }

bool CostsNothing(const MoveStep& step) { return step.kind == MoveKind::kSlice || step.kind == MoveKind::kDrop; }

class Planner {
 public:
  Planner(const Layout& from, const Layout& to, const Shape& shape, const Mesh& mesh)
      : layout_(from), to_(to), shape_(shape), mesh_(mesh) {}

  std::vector<MoveStep> Plan() {
    ReturnGhosts();
    SliceSettled();
    ReducePartials();
    Exchange();
    for (int a = 0; a < axes(); ++a) {  // ghosts after all else: nothing else then moves them
      if (AddsGhosts(layout_[a], to_[a])) Step(a);
    }
    for (int a = axes(); a-- > 0;) {  // sums last: nothing then moves their zeros
      if (Changes(a)) Step(a);
    }
    return std::move(steps_);
  }

 private:
  int axes() const { return static_cast<int>(layout_.size()); }
  bool Changes(int axis) const { return !Same(layout_, to_, axis, shape_, mesh_); }

  // Overlapping summands are added up before anything else, so that nothing else moves ghosts. A sum over all ranks
  // (P) takes them as they are.
  void ReturnGhosts() {
    for (int d = 0; d < static_cast<int>(shape_.size()); ++d) {
      const std::vector<int> split = AxesSplitting(layout_, d);
      if (split.empty() || !layout_[split[0]].summed()) continue;
      if (split.size() == 1 && to_[split[0]].partial() && AxesSplitting(to_, d).empty()) continue;
      if (std::none_of(split.begin(), split.end(), [&](int a) { return Changes(a); })) continue;
      const auto arrives = [&](int a) { return to_[a].split() && to_[a].dimension == d && !to_[a].windows; };
      const std::vector<int> after = AxesSplitting(to_, d);
      const bool outermost = after.size() >= split.size() && std::equal(split.begin(), split.end(), after.begin());
      const bool all_arrive = outermost && std::all_of(split.begin(), split.end(), arrives);
      for (int a : split) layout_[a] = all_arrive ? to_[a] : AxisLayout::Split(d);
      steps_.push_back({MoveKind::kHaloAdjoint, split, layout_});
    }
  }

  // Slices whose outer splits are as they shall be: whatever is then added up or moved is smaller.
  void SliceSettled() {
    for (int a = 0; a < axes(); ++a) {
      if (!Free(layout_[a], to_[a]) || to_[a].windows) continue;
      bool settled = true;
      for (int b = 0; to_[a].split() && b < axes(); ++b) {
        const bool before = layout_[b].split() && layout_[b].dimension == to_[a].dimension;
        const bool after = to_[b].split() && to_[b].dimension == to_[a].dimension;
        if (b < a ? (before || after) && Changes(b) : before) settled = false;
      }
      if (settled) Step(a);
    }
  }

  // Sums that go on as the same sum stay.
  bool Resolves(int axis) const { return layout_[axis].partial() && Changes(axis); }

  void ReducePartials() {
    std::vector<int> joined;
    for (int a = 0; a < axes(); ++a) {
      if (Resolves(a) && (!to_[a].at() && (!to_[a].split() || to_[a].windows || Entangles(a)))) joined.push_back(a);
    }
    if (!joined.empty()) {
      for (int a : joined) layout_[a] = AxisLayout::Replicate();
      steps_.push_back({MoveKind::kAllReduce, joined, layout_});
    }
    for (int a = 0; a < axes(); ++a) {
      if (Resolves(a)) Step(a);
    }
  }

  // A reduce_scatter must make the innermost split of its dimension, and where outer splits already are as they shall
  // be; otherwise reduce first and slice afterwards.
  bool Entangles(int axis) const {
    for (int b = 0; b < axes(); ++b) {
      if (b == axis || (b < axis && !Changes(b))) continue;
      for (const Layout* layout : {&layout_, &to_}) {
        if ((*layout)[b].split() && (*layout)[b].dimension == to_[axis].dimension) return true;
      }
    }
    return false;
  }

  // Where an exchange leads: ghosts and sums come afterwards.
  Layout Goal(const std::set<int>& entangled) const {
    Layout goal = layout_;
    for (int a = 0; a < axes(); ++a) {
      const bool alone = !entangled.count(a);
      if (!to_[a].partial()) {
        if (!alone || !AddsGhosts(layout_[a], to_[a])) goal[a] = to_[a];
      } else if (Changes(a) && to_[a].reduction == Reduction::kMax) {
        goal[a] = AxisLayout::Replicate();  // a maximum needs a number from every rank; of a sum one rank's is enough
      } else if (Changes(a) && !(alone && OuterSplitsStay(a, goal))) {
        goal[a] = AxisLayout::At(0);
      }
    }
    return goal;
  }

  bool OuterSplitsStay(int axis, const Layout& goal) const {
    for (int b = 0; layout_[axis].split() && b < axis; ++b) {
      const bool outer = layout_[b].split() && layout_[b].dimension == layout_[axis].dimension;
      if (outer && goal[b] != layout_[b]) return false;
    }
    return true;
  }

  // Brings all axes where they belong but those that become sums or only gain ghosts: axis by axis; or, where that
  // moves elements more than once, by one exchange over all that change.
  void Exchange() {
    bool changes = false;
    for (int a = 0; a < axes(); ++a) changes = changes || Changes(a);
    if (!changes) return;
    const std::set<int> entangled = EntangledAxes(layout_, to_, shape_, mesh_);
    const bool ghosts =
        std::all_of(entangled.begin(), entangled.end(), [&](int a) { return AddsGhosts(layout_[a], to_[a]); });
    const Layout goal = Goal(entangled);
    const Layout start = layout_;
    const size_t first = steps_.size();
    if (!entangled.empty()) {
      for (int a : entangled) layout_[a] = goal[a];
      steps_.push_back(
          {ghosts ? MoveKind::kHalo : MoveKind::kRepartition, {entangled.begin(), entangled.end()}, layout_});
    }
    for (int a = 0; a < axes(); ++a) {  // slices from the outermost inwards, before anything that costs bytes
      if (Free(layout_[a], goal[a])) StepTo(a, goal[a]);
    }
    for (int a = axes(); a-- > 0;) {  // gathers from the innermost outwards
      if (!Same(layout_, goal, a, shape_, mesh_)) StepTo(a, goal[a]);
    }
    if (entangled.empty() || !ghosts) JoinFrom(first, start);
  }

  // Replaces the steps from `first` on, which lead from `start` here, by one repartition if that moves fewer bytes.
  void JoinFrom(size_t first, const Layout& start) {
    const auto begin = steps_.begin() + static_cast<std::ptrdiff_t>(first);
    if (std::count_if(begin, steps_.end(), [](const MoveStep& step) { return !CostsNothing(step); }) < 2) return;
    const std::vector<MoveStep> each(begin, steps_.end());
    std::set<int> changed;
    for (const MoveStep& step : each) changed.insert(step.axes.begin(), step.axes.end());
    const std::vector<MoveStep> joint = {{MoveKind::kRepartition, {changed.begin(), changed.end()}, layout_}};
    const TensorType type{DType::kF32, shape_};
    if (WireBytes(start, joint, type, mesh_) >= WireBytes(start, each, type, mesh_)) return;
    steps_.resize(first);
    steps_.push_back(joint[0]);
  }

  void Step(int axis) { StepTo(axis, to_[axis]); }

  void StepTo(int axis, const AxisLayout& to) {
    const MoveKind kind = MoveOf(layout_[axis], to);
    layout_[axis] = to;
    steps_.push_back({kind, {axis}, layout_});
  }

  Layout layout_;
  const Layout& to_;
  const Shape& shape_;
  const Mesh& mesh_;
  std::vector<MoveStep> steps_;
};

}  // namespace

std::vector<MoveStep> PlanMove(const Layout& from, const Layout& to, const Shape& shape, const Mesh& mesh) {
  if (from == to) return {};
  return Planner(from, to, shape, mesh).Plan();
}

}  // namespace partita
