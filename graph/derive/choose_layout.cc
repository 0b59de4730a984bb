#include "graph/derive/choose_layout.h"

#include <algorithm>
#include <limits>

#include "graph/moves/move_bytes.h"
#include "runtime/base/status.h"

namespace partita {
namespace {

// Cut points in units of a split: of `cuts` in elements; nullopt if a cut lies inside a unit.
std::optional<std::vector<int64_t>> InUnits(const std::vector<int64_t>& cuts, int64_t unit) {
  std::vector<int64_t> units;
  for (int64_t cut : cuts) {
    if (cut % unit != 0) return std::nullopt;
    units.push_back(cut / unit);
  }
  return units;
}

// A rule of one axis made concrete: one axis layout for each input and output.
struct Candidate {
  std::vector<AxisLayout> inputs, outputs;
};

// True if `wanted` is what `lead` is, but for the ghosts that it needs besides.
bool Keeps(const AxisLayout& wanted, const AxisLayout& lead) {
  if (wanted == lead) return true;
  return wanted.windows && !lead.windows && lead.split() && lead.dimension == wanted.dimension;
}

class AxisChooser {
 public:
  // `outer`: what was chosen over the axes before this one.
  AxisChooser(const LayoutRequest& request, const std::vector<Rule>& rules, const NodeLayouts& outer, int axis)
      : request_(request), rules_(rules), outer_(outer), axis_(axis), size_(request.mesh->axes[axis].size) {
    for (size_t i = 0; i < request.inputs.size() && lead_ < 0; ++i) {
      if (request.inputs[i].leads && request.inputs[i].layout != nullptr) lead_ = static_cast<int>(i);
    }
  }

  absl::StatusOr<Candidate> Choose() const {
    if (size_ == 1) return All(AxisLayout::Replicate());
    if (!request_.configs.empty() && request_.configs[axis_]) return Named(*request_.configs[axis_]);
    return ByRule();
  }

 private:
  static inline const AxisLayout kReplicated{};

  // What nobody has named.
  absl::StatusOr<Candidate> ByRule() const {
    if (lead_ < 0) return All(AxisLayout::Replicate());
    const AxisLayout& lead = Current(lead_);
    std::optional<Candidate> chosen;
    if (lead.partial() || request_.keep_lead) chosen = Cheapest(&lead);
    if (!chosen) chosen = Cheapest(lead.partial() && request_.keep_lead ? &kReplicated : nullptr);
    if (chosen) return *std::move(chosen);
    return Internal("op '{}' can lie in no way over axis '{}' to which its inputs can be brought", request_.op->name,
                    request_.mesh->axes[axis_].name);
  }

  // The layout that an input has now over this axis; a free one has whatever is asked of it.
  const AxisLayout& Current(int input) const { return (*request_.inputs[input].layout)[axis_]; }

  Candidate All(const AxisLayout& layout) const {
    return {std::vector<AxisLayout>(request_.inputs.size(), layout),
            std::vector<AxisLayout>(request_.view.outputs.size(), layout)};
  }

  absl::StatusOr<Candidate> Named(const AxisConfig& config) const {
    const MeshAxis& mesh_axis = request_.mesh->axes[axis_];
    if (config.split == "replicate") return All(AxisLayout::Replicate());
    if (config.split == "at") return All(AxisLayout::At(config.coordinate));
    for (const Rule& rule : rules_) {
      if (rule.name != config.split) continue;
      const SplitValue first = FirstSplit(rule);
      const int64_t unit = first.pattern == nullptr ? 1 : first.pattern->unit;
      const std::optional<int64_t> inside = UnitsInside(rule, !config.cuts.empty());
      if (!inside) {
        return InvalidArgument(
            "'{}' over axis '{}': an outer axis cuts the same dimension into blocks of which one ends inside a group "
            "of {} elements that belong together{}; cut it at multiples of {}{}",
            config.split, mesh_axis.name, unit,
            config.cuts.empty() ? "" : ", or into blocks of different sizes, which explicit cuts cannot fit", unit,
            config.cuts.empty() ? "" : fmt::format(" into equal blocks, or omit the cuts of '{}'", mesh_axis.name));
      }
      const int64_t units = *inside;
      std::vector<int64_t> cuts = config.cuts;
      if (const int64_t counted = cuts.empty() ? 0 : UnitOfCuts(rule, units, cuts.back()); counted > 1) {
        std::optional<std::vector<int64_t>> in_units = InUnits(cuts, counted);
        if (!in_units) {
          return InvalidArgument("'{}' over axis '{}': cuts [{}] divide a group of {} that belong together",
                                 config.split, mesh_axis.name, fmt::join(cuts, ","), counted);
        }
        cuts = *std::move(in_units);
      }
      if (!cuts.empty() && (static_cast<int>(cuts.size()) != size_ + 1 || cuts.front() != 0 || cuts.back() != units ||
                            !std::is_sorted(cuts.begin(), cuts.end()))) {
        return InvalidArgument("'{}' over axis '{}': cuts [{}] found; {} points that rise from 0 to {} are needed",
                               config.split, mesh_axis.name, fmt::join(config.cuts, ","), size_ + 1, units);
      }
      return cuts.empty() ? *Balanced(rule) : Concrete(rule, cuts);
    }
    std::vector<std::string> names = {"replicate", "at"};
    for (const Rule& rule : rules_) {
      if (rule.name != "partial") names.push_back(rule.name);
    }
    return InvalidArgument("op '{}' cannot be split by '{}' over axis '{}'; it knows [{}]", request_.op->name,
                           config.split, mesh_axis.name, fmt::join(names, ", "));
  }

  // The size of a dimension inside a block of the first so many axes, where they split it too: they nest. nullopt:
  // blocks of different sizes.
  std::optional<int64_t> SizeInside(const Layout& layout, int dimension, int64_t size, int axes) const {
    for (int a = 0; a < axes; ++a) {
      if (!layout[a].split() || layout[a].dimension != dimension) continue;
      const std::vector<int64_t> cuts =
          layout[a].cuts.empty() ? BalancedCuts(size, request_.mesh->axes[a].size) : layout[a].cuts;
      size = cuts[1];
      for (size_t i = 1; i + 1 < cuts.size(); ++i) {
        if (cuts[i + 1] - cuts[i] != size) return std::nullopt;
      }
    }
    return size;
  }

  // One of the values that a rule splits: what it can be cut into, and how it lies over the outer axes.
  struct SplitValue {
    const Pattern* pattern = nullptr;
    int64_t size = 0;  // elements, or windows
    const Layout* outer = nullptr;
    size_t input = 0, output = 0;  // which one: the output, if `input` is none
  };

  // The first one that is there; without pattern: none.
  SplitValue FirstSplit(const Rule& rule) const {
    const auto value = [&](const Pattern& pattern, const Shape& shape, const Layout& outer, size_t input,
                           size_t output) {
      return SplitValue{&pattern, SizeOf(pattern, shape), &outer, input, output};
    };
    for (size_t i = 0; i < rule.inputs.size(); ++i) {
      const TensorType* type = request_.inputs[i].type;
      const bool split = rule.inputs[i].kind == AxisLayout::Kind::kSplit && type != nullptr;
      if (split) return value(rule.inputs[i], type->shape, outer_.inputs[i], i, 0);
    }
    for (size_t o = 0; o < rule.outputs.size(); ++o) {
      const bool split = rule.outputs[o].kind == AxisLayout::Kind::kSplit;
      if (split)
        return value(rule.outputs[o], request_.view.outputs[o].shape, outer_.outputs[o], rule.inputs.size(), o);
    }
    return {};
  }

  template <typename Split>
  static int64_t SizeOf(const Split& split, const Shape& shape) {
    return split.windows ? split.windows->count : shape[split.dimension];
  }

  // What cuts that end at `last` count, where a rule splits so many units: 1: units; more: elements of a value that it
  // splits, so many of which are a unit; 0: neither.
  static int64_t UnitOfCuts(const Rule& rule, int64_t units, int64_t last) {
    if (last == units) return 1;
    for (const std::vector<Pattern>* patterns : {&rule.inputs, &rule.outputs}) {
      for (const Pattern& pattern : *patterns) {
        if (pattern.kind == AxisLayout::Kind::kSplit && last == units * pattern.unit) return pattern.unit;
      }
    }
    return 0;
  }

  static bool UnitsDiffer(const Rule& rule) {
    const auto differs = [](const Pattern& pattern) { return pattern.unit != 1; };
    return std::any_of(rule.inputs.begin(), rule.inputs.end(), differs) ||
           std::any_of(rule.outputs.begin(), rule.outputs.end(), differs);
  }

  // How many units a rule splits (0 if it splits nothing), inside a block of the outer axes where it nests. nullopt:
  // the blocks do not hold the same number of whole units. Elements that are units of their own nest in any blocks,
  // but for explicit cuts.
  std::optional<int64_t> UnitsInside(const Rule& rule, bool explicit_cuts) const {
    const SplitValue first = FirstSplit(rule);
    if (first.pattern == nullptr) return 0;
    if (!explicit_cuts && !UnitsDiffer(rule)) return first.size;
    const std::optional<int64_t> block = SizeInside(*first.outer, first.pattern->dimension, first.size, axis_);
    if (!block || *block % first.pattern->unit != 0) return std::nullopt;
    return *block / first.pattern->unit;
  }

  AxisLayout FromPattern(const Pattern& pattern, const std::vector<int64_t>& units) const {
    switch (pattern.kind) {
      case AxisLayout::Kind::kReplicate:
        return AxisLayout::Replicate();
      case AxisLayout::Kind::kPartial:
        return AxisLayout::Partial(pattern.reduction);
      case AxisLayout::Kind::kAt:
        CHECK(false);
      case AxisLayout::Kind::kSplit:
        break;
    }
    if (units.empty()) return AxisLayout::Split(pattern.dimension, {}, pattern.windows);
    std::vector<int64_t> cuts;
    for (int64_t cut : units) cuts.push_back(cut * pattern.unit);
    // Balanced cuts are not written out: they then nest inside blocks of any size.
    if (cuts == BalancedCuts(cuts.back(), size_)) cuts.clear();
    return AxisLayout::Split(pattern.dimension, std::move(cuts), pattern.windows);
  }

  // `units`: the cut points in units; empty: balanced, whatever the block.
  Candidate Concrete(const Rule& rule, const std::vector<int64_t>& units) const {
    Candidate candidate;
    candidate.inputs.reserve(request_.inputs.size());
    candidate.outputs.reserve(rule.outputs.size());
    for (size_t i = 0; i < request_.inputs.size(); ++i) candidate.inputs.push_back(FromPattern(rule.inputs[i], units));
    for (const Pattern& pattern : rule.outputs) candidate.outputs.push_back(FromPattern(pattern, units));
    return candidate;
  }

  // The cut points in units that an input's present split gives a rule; nullopt: it cuts a unit; empty: balanced.
  std::optional<std::vector<int64_t>> UnitsOf(int input, const Pattern& pattern, const Rule& rule) const {
    const AxisLayout& layout = Current(input);
    if (layout.cuts.empty() && !UnitsDiffer(rule)) return std::vector<int64_t>();
    if (pattern.windows) {
      if (layout.windows == pattern.windows) return layout.cuts;
      const int64_t whole = request_.inputs[input].type->shape[pattern.dimension];
      const bool nested = layout.cuts.back() != whole;
      return nested ? std::vector<int64_t>() : OutputCuts(*pattern.windows, layout.cuts);
    }
    if (!layout.cuts.empty()) return InUnits(layout.cuts, pattern.unit);
    const int64_t size = request_.inputs[input].type->shape[pattern.dimension];
    const std::optional<int64_t> block = SizeInside(outer_.inputs[input], pattern.dimension, size, axis_);
    if (!block) return std::nullopt;
    return InUnits(BalancedCuts(*block, size_), pattern.unit);
  }

  // Overlapping summands pass through a sum of all inputs, element by element: there every input is split as the first.
  std::optional<Candidate> CarrySummands(const Rule& rule, const AxisLayout& layout) const {
    const auto same = [&](const Pattern& pattern) {
      return pattern.kind == AxisLayout::Kind::kSplit && pattern.dimension == layout.dimension && pattern.unit == 1;
    };
    const auto partial = [](const Pattern& pattern) { return pattern.kind == AxisLayout::Kind::kPartial; };
    const bool sums = std::any_of(rules_.begin(), rules_.end(), [&](const Rule& other) {
      return std::all_of(other.inputs.begin(), other.inputs.end(), partial);
    });
    if (!layout.summed() || !sums || !std::all_of(rule.inputs.begin(), rule.inputs.end(), same) ||
        !std::all_of(rule.outputs.begin(), rule.outputs.end(), same)) {
      return std::nullopt;
    }
    return All(layout);
  }

  // Whether a split can lie inside what was chosen over the outer axes: its cuts are those of a block, and all of the
  // dimension is split by the same windows.
  bool Nests(const AxisLayout& axis, const Shape& shape, const Layout& outer) const {
    if (!axis.split()) return true;
    for (int a = 0; a < axis_; ++a) {
      if (outer[a].split() && outer[a].dimension == axis.dimension && outer[a].windows != axis.windows) return false;
    }
    return axis.cuts.empty() || SizeInside(outer, axis.dimension, SizeOf(axis, shape), axis_) == axis.cuts.back();
  }

  bool Nests(const Candidate& candidate) const {
    for (size_t i = 0; i < request_.inputs.size(); ++i) {
      const TensorType* type = request_.inputs[i].type;
      if (type != nullptr && !Nests(candidate.inputs[i], type->shape, outer_.inputs[i])) return false;
    }
    for (size_t o = 0; o < candidate.outputs.size(); ++o) {
      if (!Nests(candidate.outputs[o], request_.view.outputs[o].shape, outer_.outputs[o])) return false;
    }
    return true;
  }

  // Whether cuts that the strategy names over inner axes are those of the blocks that this leaves them.
  bool LeavesRoom(const Rule& rule, const Candidate& candidate) const {
    for (size_t b = axis_ + 1; b < request_.configs.size(); ++b) {
      const std::optional<AxisConfig>& said = request_.configs[b];
      if (!said || said->cuts.empty() || said->split != rule.name) continue;
      const SplitValue first = FirstSplit(rule);
      if (first.pattern == nullptr) continue;
      Layout outer = *first.outer;
      const bool input = first.input < candidate.inputs.size();
      outer[axis_] = input ? candidate.inputs[first.input] : candidate.outputs[first.output];
      const std::optional<int64_t> block = SizeInside(outer, first.pattern->dimension, first.size, axis_ + 1);
      const int64_t unit = first.pattern->unit;
      if (!block || *block % unit != 0 || UnitOfCuts(rule, *block / unit, said->cuts.back()) == 0) return false;
    }
    return true;
  }

  std::optional<Candidate> Balanced(const Rule& rule) const {
    if (!UnitsDiffer(rule)) return Concrete(rule, {});
    const std::optional<int64_t> units = UnitsInside(rule, false);
    if (!units) return std::nullopt;
    return Concrete(rule, BalancedCuts(*units, size_));
  }

  // A rule made concrete, where it fits what is said or chosen over other axes.
  std::optional<Candidate> Fitting(const Rule& rule) const {
    std::optional<Candidate> candidate = Follow(rule);
    if (candidate && !Nests(*candidate)) candidate = Balanced(rule);  // cuts of blocks that are gone
    if (!candidate || !Nests(*candidate) || !LeavesRoom(rule, *candidate)) return std::nullopt;
    return candidate;
  }

  // Makes a rule concrete by the cuts of the first input that is split already as the rule wants; else balanced.
  std::optional<Candidate> Follow(const Rule& rule) const {
    for (size_t i = 0; i < request_.inputs.size(); ++i) {
      const Pattern& pattern = rule.inputs[i];
      if (pattern.kind != AxisLayout::Kind::kSplit || request_.inputs[i].layout == nullptr) continue;
      const AxisLayout& layout = Current(i);
      if (!layout.split() || layout.dimension != pattern.dimension) continue;
      if (layout.windows && !pattern.windows) return CarrySummands(rule, layout);
      std::optional<std::vector<int64_t>> units = UnitsOf(i, pattern, rule);
      if (!units) return std::nullopt;
      return Concrete(rule, *units);
    }
    return Balanced(rule);
  }

  // Wire bytes to bring all inputs to the candidate; nullopt if one cannot be brought there, or if that takes more than
  // `limit`.
  std::optional<int64_t> Cost(const Candidate& candidate, int64_t limit) const {
    int64_t cost = 0;
    for (size_t i = 0; i < request_.inputs.size() && cost <= limit; ++i) {
      const InputState& input = request_.inputs[i];
      const AxisLayout& wanted = candidate.inputs[i];
      if (input.type == nullptr) continue;
      if (input.layout == nullptr) {
        if (wanted.partial()) return std::nullopt;
        continue;
      }
      const AxisLayout& current = (*input.layout)[axis_];
      if (wanted.partial()) {
        if (current != wanted) return std::nullopt;
        continue;
      }
      if (wanted == current) continue;
      // Copies that windows need cannot become anything else, and nothing else is overlapping summands.
      if (wanted.summed() || (current.windows && !current.summed())) return std::nullopt;
      Layout to = *input.layout;
      // An implied reduction always goes to R first; slicing is free then.
      to[axis_] = current.partial() ? AxisLayout::Replicate() : wanted;
      cost += WireBytes(*input.layout, to, *input.type, *request_.mesh);
    }
    return cost > limit ? std::nullopt : std::optional(cost);
  }

  // Whether a rule may leave the lead as it is, but for ghosts.
  bool MayKeepLead(const Rule& rule) const {
    const AxisLayout& lead = Current(lead_);
    const Pattern& wanted = rule.inputs[lead_];
    return wanted.kind == lead.kind && (!lead.split() || wanted.dimension == lead.dimension);
  }

  // The cheapest candidate, of equals the first that keeps the lead; those that keep `lead` only, if it is given. One
  // that keeps the lead and moves nothing is looked for first: none is better, whatever the others would cost.
  std::optional<Candidate> Cheapest(const AxisLayout* lead) const {
    std::optional<Candidate> best = Cheapest(lead, /*free=*/true);
    return best ? best : Cheapest(lead, /*free=*/false);
  }

  std::optional<Candidate> Cheapest(const AxisLayout* lead, bool free) const {
    std::optional<Candidate> best;
    int64_t least = free ? 0 : std::numeric_limits<int64_t>::max();
    bool best_keeps = false;
    auto consider = [&](Candidate candidate) {
      const AxisLayout& lead_layout = candidate.inputs[lead_];
      const bool keeps = Keeps(lead_layout, Current(lead_));
      if ((lead != nullptr && !Keeps(lead_layout, *lead)) || (free && !keeps)) return;
      // As cheap as the best is good enough only if it keeps the lead and the best does not.
      const std::optional<int64_t> cost = Cost(candidate, keeps && !best_keeps ? least : least - 1);
      if (!cost) return;
      best = std::move(candidate);
      least = *cost;
      best_keeps = keeps;
    };
    for (const Rule& rule : rules_) {
      if (free && !MayKeepLead(rule)) continue;
      if (std::optional<Candidate> candidate = Fitting(rule); candidate) consider(*std::move(candidate));
      if (best_keeps && least == 0) return best;
    }
    consider(All(AxisLayout::Replicate()));
    for (size_t i = 0; i < request_.inputs.size(); ++i) {
      if (request_.inputs[i].layout != nullptr && Current(i).at()) consider(All(Current(i)));
    }
    return best;
  }

  const LayoutRequest& request_;
  const std::vector<Rule>& rules_;
  const NodeLayouts& outer_;
  const int axis_;
  const int size_;
  int lead_ = -1;
};

}  // namespace

absl::StatusOr<NodeLayouts> ChooseLayouts(const LayoutRequest& request) {
  NodeLayouts layouts;
  layouts.inputs.assign(request.inputs.size(), Replicated(*request.mesh));
  layouts.outputs.assign(request.view.outputs.size(), Replicated(*request.mesh));
  const std::vector<Rule> rules = request.op->rules ? request.op->rules(request.view) : std::vector<Rule>();
  for (int a = 0; a < static_cast<int>(request.mesh->axes.size()); ++a) {
    ASSIGN_OR_RETURN(const Candidate candidate, AxisChooser(request, rules, layouts, a).Choose());
    for (size_t i = 0; i < request.inputs.size(); ++i) layouts.inputs[i][a] = candidate.inputs[i];
    for (size_t o = 0; o < layouts.outputs.size(); ++o) layouts.outputs[o][a] = candidate.outputs[o];
  }
  for (size_t i = 0; i < request.inputs.size(); ++i) {
    if (request.inputs[i].type == nullptr) layouts.inputs[i].clear();
  }
  return layouts;
}

}  // namespace partita
