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
    if (lead_ < 0) return All(AxisLayout::Replicate());
    const AxisLayout lead = Current(lead_);
    if (lead.partial()) {
      if (std::optional<Candidate> kept = Cheapest(&lead); kept) return *kept;
      return *Cheapest(request_.keep_lead ? &kReplicated : nullptr);
    }
    if (request_.keep_lead) {
      if (std::optional<Candidate> kept = Cheapest(&lead); kept) return *kept;
    }
    return *Cheapest(nullptr);
  }

 private:
  static inline const AxisLayout kReplicated{};

  // The layout that an input has now over this axis; a free one has whatever is asked of it.
  AxisLayout Current(int input) const { return (*request_.inputs[input].layout)[axis_]; }

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
      const std::optional<int64_t> inside = UnitsInside(rule);
      if (!inside) {
        return InvalidArgument(
            "'{}' over axis '{}': the blocks of an outer axis cut its units, or hold different numbers", config.split,
            mesh_axis.name);
      }
      const int64_t units = *inside, unit = UnitOf(rule);
      std::vector<int64_t> cuts = config.cuts;
      if (unit > 1 && !cuts.empty() && cuts.back() == units * unit) {  // in elements
        std::optional<std::vector<int64_t>> in_units = InUnits(cuts, unit);
        if (!in_units) {
          return InvalidArgument("'{}' over axis '{}': cuts [{}] divide a group of {} that belong together",
                                 config.split, mesh_axis.name, fmt::join(cuts, ","), unit);
        }
        cuts = *std::move(in_units);
      }
      if (!cuts.empty() && (static_cast<int>(cuts.size()) != size_ + 1 || cuts.front() != 0 || cuts.back() != units ||
                            !std::is_sorted(cuts.begin(), cuts.end()))) {
        return InvalidArgument("'{}' over axis '{}': cuts [{}] found; {} points that rise from 0 to {} are needed",
                               config.split, mesh_axis.name, fmt::join(config.cuts, ","), size_ + 1, units);
      }
      return Concrete(rule, cuts.empty() ? BalancedCuts(units, size_) : cuts);
    }
    std::vector<std::string> names = {"replicate", "at"};
    for (const Rule& rule : rules_) {
      if (rule.name != "partial") names.push_back(rule.name);
    }
    return InvalidArgument("op '{}' cannot be split by '{}' over axis '{}'; it knows [{}]", request_.op->name,
                           config.split, mesh_axis.name, fmt::join(names, ", "));
  }

  // The size of a dimension inside a block of the outer axes that split it too: they nest. nullopt: blocks of different
  // sizes.
  std::optional<int64_t> SizeInside(const Layout& layout, int dimension, int64_t size) const {
    for (int a = 0; a < axis_; ++a) {
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

  // Elements that a unit has of the first value that the rule splits.
  int64_t UnitOf(const Rule& rule) const {
    for (size_t i = 0; i < rule.inputs.size(); ++i) {
      if (rule.inputs[i].kind == AxisLayout::Kind::kSplit && request_.inputs[i].type != nullptr) {
        return rule.inputs[i].unit;
      }
    }
    for (const Pattern& output : rule.outputs) {
      if (output.kind == AxisLayout::Kind::kSplit) return output.unit;
    }
    return 1;
  }

  static bool UnitsDiffer(const Rule& rule) {
    const auto differs = [](const Pattern& pattern) { return pattern.unit != 1; };
    return std::any_of(rule.inputs.begin(), rule.inputs.end(), differs) ||
           std::any_of(rule.outputs.begin(), rule.outputs.end(), differs);
  }

  // How many units a rule splits (0 if it splits nothing), inside a block of the outer axes where it nests. nullopt:
  // the blocks do not hold the same number of whole units. Elements that are units of their own nest in any blocks.
  std::optional<int64_t> UnitsInside(const Rule& rule) const {
    const auto inside = [&](const Pattern& pattern, const Shape& shape, const Layout& outer) -> std::optional<int64_t> {
      if (pattern.windows) return pattern.windows->count;
      const int64_t size = shape[pattern.dimension];
      if (!UnitsDiffer(rule)) return size;
      const std::optional<int64_t> block = SizeInside(outer, pattern.dimension, size);
      if (!block || *block % pattern.unit != 0) return std::nullopt;
      return *block / pattern.unit;
    };
    for (size_t i = 0; i < rule.inputs.size(); ++i) {
      if (rule.inputs[i].kind == AxisLayout::Kind::kSplit && request_.inputs[i].type != nullptr) {
        return inside(rule.inputs[i], request_.inputs[i].type->shape, outer_.inputs[i]);
      }
    }
    for (size_t o = 0; o < rule.outputs.size(); ++o) {
      if (rule.outputs[o].kind == AxisLayout::Kind::kSplit) {
        return inside(rule.outputs[o], request_.view.outputs[o].shape, outer_.outputs[o]);
      }
    }
    return 0;
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

  // The cut points in units that an input's present split gives a rule; nullopt if it cuts inside a unit. Empty:
  // balanced.
  std::optional<std::vector<int64_t>> UnitsOf(int input, const Pattern& pattern, const Rule& rule) const {
    const AxisLayout layout = Current(input);
    if (layout.cuts.empty() && !UnitsDiffer(rule)) return std::vector<int64_t>();
    if (pattern.windows) {
      if (layout.windows == pattern.windows) return layout.cuts;
      const int64_t whole = request_.inputs[input].type->shape[pattern.dimension];
      const bool nested = layout.cuts.back() != whole;
      return nested ? std::vector<int64_t>() : OutputCuts(*pattern.windows, layout.cuts);
    }
    if (!layout.cuts.empty()) return InUnits(layout.cuts, pattern.unit);
    const int64_t size = request_.inputs[input].type->shape[pattern.dimension];
    const std::optional<int64_t> block = SizeInside(outer_.inputs[input], pattern.dimension, size);
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

  // Makes a rule concrete by the cuts of the first input that is split already as the rule wants; else balanced.
  std::optional<Candidate> Follow(const Rule& rule) const {
    for (size_t i = 0; i < request_.inputs.size(); ++i) {
      const Pattern& pattern = rule.inputs[i];
      if (pattern.kind != AxisLayout::Kind::kSplit) continue;
      if (request_.inputs[i].layout == nullptr) continue;
      const AxisLayout layout = Current(i);
      if (!layout.split() || layout.dimension != pattern.dimension) continue;
      if (layout.windows && !pattern.windows) return CarrySummands(rule, layout);
      std::optional<std::vector<int64_t>> units = UnitsOf(i, pattern, rule);
      if (!units) return std::nullopt;
      return Concrete(rule, *units);
    }
    if (!UnitsDiffer(rule)) return Concrete(rule, {});
    const std::optional<int64_t> units = UnitsInside(rule);
    if (!units) return std::nullopt;
    return Concrete(rule, BalancedCuts(*units, size_));
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
    if (cost > limit) return std::nullopt;
    return cost;
  }

  // The cheapest candidate, the first of equals; those that keep `lead` only, if it is given.
  std::optional<Candidate> Cheapest(const AxisLayout* lead) const {
    std::optional<Candidate> best;
    int64_t least = std::numeric_limits<int64_t>::max();
    bool best_keeps = false;
    auto consider = [&](Candidate candidate) {
      const AxisLayout& lead_layout = candidate.inputs[lead_];
      if (lead != nullptr && !Keeps(lead_layout, *lead)) return;
      const bool keeps = Keeps(lead_layout, Current(lead_));
      // As cheap as the best is good enough only if it keeps the lead and the best does not.
      const bool ties = keeps && !best_keeps;
      const std::optional<int64_t> cost = Cost(candidate, ties ? least : least - 1);
      if (!cost) return;
      best = std::move(candidate);
      least = *cost;
      best_keeps = keeps;
    };
    for (const Rule& rule : rules_) {
      if (std::optional<Candidate> candidate = Follow(rule); candidate) consider(*std::move(candidate));
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
  const int axes = static_cast<int>(request.mesh->axes.size());
  NodeLayouts layouts;
  layouts.inputs.assign(request.inputs.size(), Replicated(*request.mesh));
  layouts.outputs.assign(request.view.outputs.size(), Replicated(*request.mesh));
  const std::vector<Rule> rules = request.op->rules ? request.op->rules(request.view) : std::vector<Rule>();
  for (int a = 0; a < axes; ++a) {
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
