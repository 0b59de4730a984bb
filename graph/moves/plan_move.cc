#include "graph/moves/plan_move.h"

#include <algorithm>
#include <set>

#include "runtime/base/check.h"

namespace partita {
namespace {

bool Same(const Layout& from, const Layout& to, int axis, const Shape& shape, const Mesh& mesh) {
  const int64_t n = from[axis].split() ? shape[from[axis].dimension] : 0;
  return SameAxis(from[axis], to[axis], n, mesh.axes[axis].size);
}

std::vector<int> AxesSplitting(const Layout& layout, int dimension) {
  std::vector<int> axes;
  for (size_t a = 0; a < layout.size(); ++a) {
    if (layout[a].split() && layout[a].dimension == dimension) axes.push_back(static_cast<int>(a));
  }
  return axes;
}

// The axes of every dimension whose nested splits change other than by adding or removing innermost ones.
std::set<int> EntangledAxes(const Layout& from, const Layout& to, const Shape& shape, const Mesh& mesh) {
  std::set<int> entangled;
  for (int d = 0; d < static_cast<int>(shape.size()); ++d) {
    const std::vector<int> before = AxesSplitting(from, d), after = AxesSplitting(to, d);
    if (before.size() + after.size() < 2) continue;
    const size_t shared = std::min(before.size(), after.size());
    bool prefix = true;
    for (size_t i = 0; i < shared; ++i) {
      prefix = prefix && before[i] == after[i] && Same(from, to, before[i], shape, mesh);
    }
    // One axis alone that only changes its cuts needs no company.
    if (!prefix && before.size() == 1 && before == after) continue;
    // Splits that nest arise from the outermost inwards, which only slices can be sure to do.
    for (int a : after) {
      const bool arises = std::find(before.begin(), before.end(), a) == before.end();
      if (after.size() > 1 && arises && !from[a].replicated()) prefix = false;
    }
    if (!prefix) {
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

// The move of one axis from one kind of layout to another (table of derivation.md section 2).
const char* MoveOf(const AxisLayout& from, const AxisLayout& to) {
  using Kind = AxisLayout::Kind;
  if (to.kind == Kind::kPartial) return "zero_extend";
  switch (from.kind) {
    case Kind::kPartial:
      return to.kind == Kind::kReplicate ? "all_reduce" : to.kind == Kind::kSplit ? "reduce_scatter" : "sum_reduce";
    case Kind::kSplit:
      CHECK(!from.windows);  // blocks of windows may leave out elements: nothing but them can be made of them
      if (AddsGhosts(from, to)) return "halo_exchange";
      return to.kind == Kind::kReplicate ? "all_gather" : to.kind == Kind::kAt ? "gather" : "repartition";
    case Kind::kAt:
      return to.kind == Kind::kReplicate ? "broadcast" : to.kind == Kind::kSplit ? "scatter" : "send";
    case Kind::kReplicate:
      return to.kind == Kind::kSplit ? "slice_move" : "drop";
  }
  return "";
}

bool Free(const AxisLayout& from, const AxisLayout& to) { return from.replicated() && (to.split() || to.at()); }

class Planner {
 public:
  Planner(const Layout& from, const Layout& to, const Shape& shape, const Mesh& mesh)
      : layout_(from), to_(to), shape_(shape), mesh_(mesh) {}

  std::vector<MoveStep> Plan() {
    ReturnGhosts();
    ReducePartials();
    Repartition();
    const int axes = static_cast<int>(layout_.size());
    for (int a = 0; a < axes; ++a) {  // slices from the outermost inwards, before anything that costs bytes
      if (Free(layout_[a], to_[a])) Step(a);
    }
    for (int a = axes; a-- > 0;) {  // gathers from the innermost outwards
      if (!Same(layout_, to_, a, shape_, mesh_) && !AddsGhosts(layout_[a], to_[a])) Step(a);
    }
    for (int a = 0; a < axes; ++a) {  // ghosts last: nothing else then moves them
      if (!Same(layout_, to_, a, shape_, mesh_)) Step(a);
    }
    return std::move(steps_);
  }

 private:
  // Overlapping summands are added up before anything else, so that nothing else moves ghosts. A sum over all ranks
  // (P) takes them as they are.
  void ReturnGhosts() {
    for (int d = 0; d < static_cast<int>(shape_.size()); ++d) {
      const std::vector<int> axes = AxesSplitting(layout_, d);
      if (axes.empty() || !layout_[axes[0]].summed()) continue;
      if (axes.size() == 1 && to_[axes[0]].partial()) continue;
      const auto changes = [&](int a) { return !Same(layout_, to_, a, shape_, mesh_); };
      if (std::none_of(axes.begin(), axes.end(), changes)) continue;
      const auto arrives = [&](int a) { return to_[a].split() && to_[a].dimension == d && !to_[a].windows; };
      const bool all_arrive = std::all_of(axes.begin(), axes.end(), arrives);
      for (int a : axes) layout_[a] = all_arrive ? to_[a] : AxisLayout::Split(d);
      steps_.push_back({"halo_exchange_adjoint", axes, layout_});
    }
  }

  void ReducePartials() {
    std::vector<int> joined;
    for (int a = 0; a < static_cast<int>(layout_.size()); ++a) {
      if (layout_[a].partial() && !to_[a].partial()) {
        if (to_[a].replicated() || to_[a].windows || Entangles(a)) joined.push_back(a);
      }
    }
    if (!joined.empty()) {
      for (int a : joined) layout_[a] = AxisLayout::Replicate();
      steps_.push_back({"all_reduce", joined, layout_});
    }
    for (int a = 0; a < static_cast<int>(layout_.size()); ++a) {
      if (layout_[a].partial() && !to_[a].partial()) Step(a);
    }
  }

  // A reduce_scatter must make the innermost split of its dimension; otherwise reduce first and slice afterwards.
  bool Entangles(int axis) const {
    if (!to_[axis].split()) return false;
    for (int inner = axis + 1; inner < static_cast<int>(layout_.size()); ++inner) {
      for (const Layout* layout : {&layout_, &to_}) {
        if ((*layout)[inner].split() && (*layout)[inner].dimension == to_[axis].dimension) return true;
      }
    }
    return false;
  }

  void Repartition() {
    const std::set<int> entangled = EntangledAxes(layout_, to_, shape_, mesh_);
    if (entangled.empty()) return;
    const bool ghosts =
        std::all_of(entangled.begin(), entangled.end(), [&](int a) { return AddsGhosts(layout_[a], to_[a]); });
    for (int a : entangled) {
      CHECK(!to_[a].partial() && !layout_[a].partial());
      layout_[a] = to_[a];
    }
    steps_.push_back({ghosts ? "halo_exchange" : "repartition", {entangled.begin(), entangled.end()}, layout_});
  }

  void Step(int axis) {
    const char* op = MoveOf(layout_[axis], to_[axis]);
    layout_[axis] = to_[axis];
    steps_.push_back({op, {axis}, layout_});
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
