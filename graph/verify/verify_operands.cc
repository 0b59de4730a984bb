#include "graph/verify/verify_operands.h"

#include <algorithm>
#include <optional>

#include "graph/ir/node_view.h"
#include "runtime/base/status.h"

namespace partita {
namespace {

using Kind = AxisLayout::Kind;

// Blocks of units that follow each other, as the ends of all of them; nullopt: one of them ends inside a unit.
using Blocks = std::optional<std::vector<int64_t>>;

class OperandVerifier {
 public:
  OperandVerifier(const Graph& graph, const Node& node)
      : graph_(graph), node_(node), mesh_(graph.mesh(node.outputs[0])) {
    values_ = node.inputs;
    values_.insert(values_.end(), node.outputs.begin(), node.outputs.end());
  }

  absl::Status Run() {
    std::vector<const Rule*> chosen(mesh_.axes.size(), nullptr);
    for (size_t a = 0; a < mesh_.axes.size(); ++a) {
      if (Uniform(a)) continue;
      if (!rules_) rules_ = node_.op->rules ? node_.op->rules(ViewOf(graph_, node_)) : std::vector<Rule>();
      chosen[a] = FindRule(a);
      if (chosen[a] == nullptr) return NoRule(a);
    }
    for (size_t a = 0; a < chosen.size(); ++a) {
      const bool first =
          chosen[a] != nullptr && std::find(chosen.begin(), chosen.begin() + a, chosen[a]) == chosen.begin() + a;
      if (first) RETURN_IF_ERROR(CheckMeeting(*chosen[a], AxesOf(chosen, chosen[a])));
    }
    return absl::OkStatus();
  }

 private:
  const AxisLayout& At(size_t value, size_t axis) const { return graph_.layout(values_[value])[axis]; }
  bool Absent(size_t value) const { return values_[value] == kNoValue; }

  template <typename Predicate>
  bool All(const Predicate& holds) const {
    for (size_t v = 0; v < values_.size(); ++v) {
      if (!Absent(v) && !holds(v)) return false;
    }
    return true;
  }

  // All R, or all at one coordinate.
  bool Uniform(size_t axis) const {
    const AxisLayout& output = graph_.layout(node_.outputs[0])[axis];
    if (!output.replicated() && !output.at()) return false;
    return All([&](size_t v) { return At(v, axis) == output; });
  }

  const Pattern& PatternOf(const Rule& rule, size_t value) const {
    return value < node_.inputs.size() ? rule.inputs[value] : rule.outputs[value - node_.inputs.size()];
  }

  bool Lists(const Rule& rule) const {
    return rule.inputs.size() == node_.inputs.size() && rule.outputs.size() == node_.outputs.size();
  }

  const Rule* FindRule(size_t axis) const {
    for (const Rule& rule : *rules_) {
      if (Lists(rule) && (Holds(rule, axis) || PassesBlocks(rule, axis))) return &rule;
    }
    return nullptr;
  }

  bool Holds(const Rule& rule, size_t axis) const {
    return All([&](size_t v) {
      const AxisLayout& layout = At(v, axis);
      const Pattern& pattern = PatternOf(rule, v);
      if (layout.kind != pattern.kind) return false;
      if (layout.split()) return layout.dimension == pattern.dimension && layout.windows == pattern.windows;
      return !layout.partial() || layout.reduction == pattern.reduction;
    });
  }

  // Blocks of windows as they lie, element by element, through an op that is linear in all of its inputs: copies of
  // neighbours' elements stay copies, summands stay summands, and a margin of zeros stays one.
  bool PassesBlocks(const Rule& rule, size_t axis) const {
    const AxisLayout& output = graph_.layout(node_.outputs[0])[axis];
    if (!output.windows) return false;
    const auto sums = [](const Rule& other) {
      const auto partial = [](const Pattern& pattern) { return pattern.kind == Kind::kPartial; };
      return std::all_of(other.inputs.begin(), other.inputs.end(), partial);
    };
    if (std::none_of(rules_->begin(), rules_->end(), sums)) return false;
    return All([&](size_t v) {
      const Pattern& pattern = PatternOf(rule, v);
      return pattern.kind == Kind::kSplit && pattern.dimension == output.dimension && pattern.unit == 1 &&
             !pattern.windows && At(v, axis) == output &&
             SizeOf(v, output.dimension) == SizeOf(Last(), output.dimension);
    });
  }

  size_t Last() const { return values_.size() - 1; }
  int64_t SizeOf(size_t value, int dimension) const { return graph_.type(values_[value]).shape[dimension]; }

  static std::vector<size_t> AxesOf(const std::vector<const Rule*>& chosen, const Rule* rule) {
    std::vector<size_t> axes;
    for (size_t a = 0; a < chosen.size(); ++a) {
      if (chosen[a] == rule) axes.push_back(a);
    }
    return axes;
  }

  absl::Status CheckMeeting(const Rule& rule, const std::vector<size_t>& axes) const {
    std::optional<size_t> first;
    for (size_t v = 0; v < values_.size(); ++v) {
      if (Absent(v) || PatternOf(rule, v).kind != Kind::kSplit) continue;
      if (!first) first = v;
      RETURN_IF_ERROR(CheckPair(rule, axes, *first, v));
    }
    return absl::OkStatus();
  }

  absl::Status CheckPair(const Rule& rule, const std::vector<size_t>& axes, size_t first, size_t second) const {
    const int64_t units = Units(rule, axes, first), others = Units(rule, axes, second);
    if (units != others) {
      return Internal("'{}' splits {} units of {}, but {} of {}", rule.name, units, Describe(first), others,
                      Describe(second));
    }
    if (CutAlike(rule, axes, first, second)) return absl::OkStatus();
    const Blocks blocks = BlocksOf(rule, axes, first);
    if (blocks && blocks == BlocksOf(rule, axes, second)) return absl::OkStatus();
    return Internal("'{}' cuts {} and {} at different places", rule.name, Describe(first), Describe(second));
  }

  // Of the same words about as many elements nothing has to be counted.
  bool CutAlike(const Rule& rule, const std::vector<size_t>& axes, size_t first, size_t second) const {
    if (PatternOf(rule, first).unit != 1 || PatternOf(rule, second).unit != 1) return false;
    return std::all_of(axes.begin(), axes.end(), [&](size_t a) { return At(first, a).cuts == At(second, a).cuts; });
  }

  // Elements, or windows, that the axes cut.
  int64_t Cuttable(const Rule& rule, const std::vector<size_t>& axes, size_t value) const {
    const AxisLayout& layout = At(value, axes[0]);
    return layout.windows ? layout.windows->count : SizeOf(value, PatternOf(rule, value).dimension);
  }

  int64_t Units(const Rule& rule, const std::vector<size_t>& axes, size_t value) const {
    return Cuttable(rule, axes, value) / PatternOf(rule, value).unit;
  }

  Blocks BlocksOf(const Rule& rule, const std::vector<size_t>& axes, size_t value) const {
    std::vector<int64_t> ends = {0, Cuttable(rule, axes, value)};
    for (const size_t a : axes) ends = Cut(ends, At(value, a), mesh_.axes[a].size);
    const int64_t unit = PatternOf(rule, value).unit;
    for (int64_t& end : ends) {
      if (end % unit != 0) return std::nullopt;
      end /= unit;
    }
    return ends;
  }

  // Each block by the axis.
  static std::vector<int64_t> Cut(const std::vector<int64_t>& ends, const AxisLayout& axis, int size) {
    std::vector<int64_t> finer = {0};
    for (size_t block = 0; block + 1 < ends.size(); ++block) {
      const std::vector<int64_t> cuts =
          axis.cuts.empty() ? BalancedCuts(ends[block + 1] - ends[block], size) : axis.cuts;
      for (size_t i = 1; i < cuts.size(); ++i) finer.push_back(ends[block] + cuts[i]);
    }
    return finer;
  }

  std::string Describe(size_t value) const {
    const Value& described = graph_.value(values_[value]);
    return fmt::format("'{}' {} {}", described.name, ToString(described.type.shape), ToString(described.layout, mesh_));
  }

  absl::Status NoRule(size_t axis) const {
    std::string found;
    for (size_t v = 0; v < values_.size(); ++v) {
      if (v > 0) found += v == node_.inputs.size() ? " -> " : v < node_.inputs.size() ? ", " : " ";
      found += Absent(v) ? "_" : At(v, axis).ToString();
    }
    return Internal("op '{}' has no rule {} over axis '{}'", node_.op->name, found, mesh_.axes[axis].name);
  }

  const Graph& graph_;
  const Node& node_;
  const Mesh& mesh_;
  std::vector<ValueId> values_;             // inputs, then outputs
  std::optional<std::vector<Rule>> rules_;  // once an axis asks for them
};

}  // namespace

absl::Status VerifyOperands(const Graph& graph, const Node& node) { return OperandVerifier(graph, node).Run(); }

}  // namespace partita
