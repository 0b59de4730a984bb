#include "graph/sets/find_set_results.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "graph/derive/sample_rows_of.h"
#include "graph/derive/strategy.h"
#include "graph/ir/entry_point.h"
#include "graph/ir/node_view.h"
#include "graph/passes/drop_unused.h"
#include "graph/passes/prepare_evaluation.h"
#include "runtime/base/status.h"

namespace partita {
namespace {

constexpr char kWeightInput[] = "sample_weight";  // of losses and metrics, which are linear in it
constexpr char kReduction[] = "reduction", kBatch[] = "batch";

// What a value is to the samples of a batch.
struct Part {
  enum class Kind { kSame, kRows, kSum, kNumber, kMixed };

  Kind kind = Kind::kMixed;
  SampleRows samples = {};  // of rows: where it has the samples
  bool mean = false;        // of a sum
  double places = 1;
  std::vector<SetFactor> factors = {};   // of rows and sums
  std::set<std::string> zero_with = {};  // of rows and sums: as SetTerm has it
  int term = -1;                         // of a number, which all elements of the value are
};
using enum Part::Kind;

bool IsSplit(const Pattern& pattern) { return pattern.kind == AxisLayout::Kind::kSplit && !pattern.windows; }
bool IsSum(const Pattern& pattern) {
  return pattern.kind == AxisLayout::Kind::kPartial && pattern.reduction == Reduction::kSum;
}

class SetAnalysis {
 public:
  // `prepared`: an evaluation graph.
  SetAnalysis(const Graph& prepared, const std::function<bool(const std::string& op)>& on_numbers)
      : graph_(prepared), on_numbers_(on_numbers), results_(ResultsOf(prepared)) {
    for (const Node& node : graph_.nodes()) {
      if (node.op->role == Role::kInput) batch_ = graph_.type(node.outputs[0]).shape[0];
    }
    for (const State& state : graph_.states()) {
      if (state.update != kNoValue && !graph_.type(state.value).shape.empty()) carried_.insert(state.value);
    }
  }

  SetResults Run(const std::string& entry) {
    const size_t results = results_.size();  // the graph's own; Report adds to them
    parts_.resize(graph_.values().size());
    for (const Node& node : graph_.nodes()) {
      for (size_t o = 0; o < node.outputs.size(); ++o) parts_[node.outputs[o]] = PartOf(node, o);
    }
    for (size_t r = 0; r < results; ++r) {
      const int term = TermOf(results_[r]);
      set_.of_results.push_back(term >= 0 ? term : Add(Undecided(static_cast<int>(r)), 1));
    }
    set_.places[entry] = std::move(places_);
    return std::move(set_);
  }

 private:
  static SetTerm Undecided(int result) {
    SetTerm term;
    term.result = result;
    term.mean = true;
    term.decided = false;
    return term;
  }

  int Add(SetTerm term, double places) {
    set_.terms.push_back(std::move(term));
    places_.push_back(places);
    return static_cast<int>(set_.terms.size()) - 1;
  }

  // The place of a scalar among the results of a step, which reports it if it does not yet; -1: it cannot.
  int Report(ValueId value) {
    const auto found = std::ranges::find(results_, value);
    if (found != results_.end()) return static_cast<int>(found - results_.begin());
    if (!graph_.type(value).shape.empty()) return -1;
    results_.push_back(value);
    set_.reported.push_back(graph_.value(value).name);
    return static_cast<int>(results_.size()) - 1;
  }

  // The term of a value of one element; -1: none, as it is not decided or cannot be reported.
  int TermOf(ValueId value) {
    const Part& part = parts_[value];
    if (part.kind == kNumber) return part.term;
    if (Elements(graph_.type(value).shape) != 1 || !IsFloating(graph_.type(value).dtype)) return -1;
    if (part.kind != kSame && part.kind != kSum) return -1;
    const auto [known, fresh] = terms_.emplace(value, -1);
    if (!fresh) return known->second;
    const int result = Report(value);
    if (result < 0) return -1;
    SetTerm term;
    term.result = result;
    term.same = part.kind == kSame;
    term.mean = part.mean;
    term.factors = part.factors;
    term.zero_with = part.zero_with;
    return known->second = Add(std::move(term), part.places);
  }

  bool Reads(const Node& node, size_t i) const { return node.inputs[i] != kNoValue; }
  const Part& PartAt(const Node& node, size_t i) const { return parts_[node.inputs[i]]; }
  bool Is(const Node& node, size_t i, Part::Kind kind) const { return Reads(node, i) && PartAt(node, i).kind == kind; }

  bool AnyIs(const Node& node, Part::Kind kind) const {
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      if (Is(node, i, kind)) return true;
    }
    return false;
  }

  Part PartOf(const Node& node, size_t output) {
    if (node.op->role == Role::kInput) return InputPart(node);
    if (carried_.contains(node.outputs[0])) return {.kind = kRows};
    if (AnyIs(node, kMixed)) return {};
    if (AnyIs(node, kRows)) return PartOfRows(node, output);
    if (AnyIs(node, kSum) || AnyIs(node, kNumber)) return PartOfSums(node, output);
    return {.kind = kSame};
  }

  Part InputPart(const Node& node) const {
    const std::string field = node.attributes.Has(kField) ? node.attributes.String(kField) : "";
    return {.kind = kRows, .zero_with = {field.empty() ? graph_.value(node.outputs[0]).name : field}};
  }

  // Whether the op is linear in those inputs together: what is not among them keeps its values.
  bool IsLinear(const Node& node, const std::vector<Rule>& rules, const std::vector<size_t>& in) const {
    const bool alone = in.size() == 1;
    if (alone && node.op->role == Role::kCast) return true;
    if (alone && in[0] < node.op->inputs.size() && node.op->inputs[in[0]].name == kWeightInput) return true;
    return std::ranges::any_of(rules, [&](const Rule& rule) {
      for (size_t i = 0; i < node.inputs.size(); ++i) {
        if (!Reads(node, i)) continue;
        const bool linear = std::ranges::find(in, i) != in.end();
        if (linear ? !IsSum(rule.inputs[i]) : rule.inputs[i].kind != AxisLayout::Kind::kReplicate) return false;
      }
      return IsSum(rule.outputs[0]);
    });
  }

  // Sums of an op that is linear in them are sums; other numbers are computed once the set's sums are known.
  Part PartOfSums(const Node& node, size_t output) {
    const std::vector<Rule> rules = RulesOf(graph_, node);
    std::vector<size_t> sums;
    bool alike = true;
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      if (!Reads(node, i) || Is(node, i, kSame)) continue;
      sums.push_back(i);
      const Part &first = PartAt(node, sums[0]), &part = PartAt(node, i);
      alike = alike && part.kind == kSum && part.mean == first.mean && part.places == first.places &&
              part.factors == first.factors && part.zero_with == first.zero_with;
    }
    const bool grows = Elements(graph_.type(node.outputs[output]).shape) > 1;
    const bool copies = Repeats(node) && (grows || Is(node, 0, kNumber));
    if (copies && NumberAt(node, 0) >= 0) return {.kind = kNumber, .term = NumberAt(node, 0)};
    if (alike && IsLinear(node, rules, sums)) return PartAt(node, sums[0]);
    return Number(node, output);
  }

  // Whether all elements of the result are those of the only input, which are one number.
  bool Repeats(const Node& node) const {
    static constexpr const char* kRepeat[] = {"expand", "reshape", "cast", "transpose", "stop_gradient", "slice"};
    return std::ranges::find(kRepeat, node.op->name) != std::end(kRepeat) &&
           IsFloating(graph_.type(node.outputs[0]).dtype);
  }

  // The term that all elements of an input are; -1: none.
  int NumberAt(const Node& node, size_t i) {
    if (!Is(node, i, kNumber) && !Is(node, i, kSum)) return -1;
    return TermOf(node.inputs[i]);
  }

  Part Number(const Node& node, size_t output) {
    if (!on_numbers_(node.op->name) || Elements(graph_.type(node.outputs[output]).shape) != 1) return {};
    SetTerm term;
    term.op = node.op->name;
    if (node.attributes.Has("factor")) term.factor = node.attributes.Float("factor");
    for (const ValueId input : node.inputs) {
      if (input == kNoValue) continue;
      term.inputs.push_back(TermOf(input));
      if (term.inputs.back() < 0) return {};
    }
    return {.kind = kNumber, .term = Add(std::move(term), 1)};
  }

  // What a number does to the rows beside it: it divides or multiplies all of them; none: something else.
  std::optional<SetFactor> FactorOf(const Node& node, size_t i) {
    const std::string& op = node.op->name;
    const bool divides = i == 1 && (op == "over" || op == "div");
    if (!divides && op != "mul") return std::nullopt;
    const int term = NumberAt(node, i);
    if (term < 0) return std::nullopt;
    return SetFactor{term, divides};
  }

  Part PartOfRows(const Node& node, size_t output) {
    if (node.op->view && node.inputs.size() == 1) return PartOfView(node);
    const std::vector<Rule> rules = RulesOf(graph_, node);
    std::vector<SetFactor> factors;
    std::vector<bool> ignored(node.inputs.size(), false);
    std::vector<size_t> rows, scaled;
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      if (!Reads(node, i) || Is(node, i, kSame)) continue;
      if (Is(node, i, kRows)) {
        rows.push_back(i);
        if (!PartAt(node, i).factors.empty()) scaled.push_back(i);
        continue;
      }
      const std::optional<SetFactor> factor = FactorOf(node, i);
      if (!factor) return {};
      factors.push_back(*factor);
      ignored[i] = true;
    }
    const std::optional<std::vector<SetFactor>> before = FactorsThrough(node, rules, rows, scaled);
    if (!before) return {};
    factors.insert(factors.end(), before->begin(), before->end());
    for (const Rule& rule : rules) {
      if (!SplitsSamples(node, rule, ignored)) continue;
      Part part{.kind = kRows, .factors = factors, .zero_with = ZeroWith(node, rules, rows)};
      if (IsSplit(rule.outputs[output])) {
        const std::optional<SampleRows> samples = SamplesBy(node, rule, ignored, rule.outputs[output]);
        if (!samples) continue;
        part.samples = *samples;
        return part;
      }
      if (!IsSum(rule.outputs[output])) return {};
      part.kind = kSum;
      // Samples multiplied by constants of the graph, one for each sample of a batch, are a weighted mean.
      bool shared = false;
      for (size_t i = 0; i < node.inputs.size(); ++i) {
        shared = shared || (Reads(node, i) && Is(node, i, kSame) && IsSplit(rule.inputs[i]));
      }
      part.mean = shared || IsMean(node);
      if (IsMean(node)) part.places = PlacesOf(node);
      return part;
    }
    return {};
  }

  // Of inputs that have factors; none: the op is not linear in them.
  std::optional<std::vector<SetFactor>> FactorsThrough(const Node& node, const std::vector<Rule>& rules,
                                                       const std::vector<size_t>& rows,
                                                       const std::vector<size_t>& scaled) const {
    std::vector<SetFactor> factors;
    if (scaled.empty()) return factors;
    const auto alone = [&](size_t i) { return IsLinear(node, rules, {i}); };
    if (std::ranges::all_of(scaled, alone)) {
      for (const size_t i : scaled) {
        const std::vector<SetFactor>& own = PartAt(node, i).factors;
        factors.insert(factors.end(), own.begin(), own.end());
      }
      return factors;
    }
    const std::vector<SetFactor>& first = PartAt(node, scaled[0]).factors;
    const auto like_first = [&](size_t i) { return PartAt(node, i).factors == first; };
    if (scaled != rows || !std::ranges::all_of(scaled, like_first) || !IsLinear(node, rules, scaled)) {
      return std::nullopt;
    }
    return first;
  }

  // The same elements under another shape.
  Part PartOfView(const Node& node) const {
    Part part = PartAt(node, 0);
    const std::optional<SampleRows> samples =
        RowsOfView(part.samples, graph_.type(node.inputs[0]).shape, graph_.type(node.outputs[0]).shape);
    if (!samples) return {};
    part.samples = *samples;
    return part;
  }

  // Whether a rule splits the samples of all inputs that have them.
  bool SplitsSamples(const Node& node, const Rule& rule, const std::vector<bool>& ignored) const {
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      if (!Reads(node, i) || ignored[i]) continue;
      const Pattern& from = rule.inputs[i];
      const bool whole = PartAt(node, i).kind == kSame && from.kind == AxisLayout::Kind::kReplicate;
      if (!whole && !IsSplit(from)) return false;
      const SampleRows& samples = PartAt(node, i).samples;
      if (PartAt(node, i).kind != kSame && (from.dimension != samples.dimension || samples.rows % from.unit != 0)) {
        return false;
      }
    }
    return true;
  }

  // Where an output that is split as `to` has the samples, by a rule that splits them; none: not all inputs say the
  // same.
  std::optional<SampleRows> SamplesBy(const Node& node, const Rule& rule, const std::vector<bool>& ignored,
                                      const Pattern& to) const {
    std::optional<SampleRows> samples;
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      if (!Reads(node, i) || ignored[i] || PartAt(node, i).kind == kSame) continue;
      const std::optional<SampleRows> behind = RowsBehind(PartAt(node, i).samples, rule.inputs[i], to);
      if (!behind || (samples && samples != behind)) return std::nullopt;
      samples = behind;
    }
    return samples;
  }

  // A product is 0 where one of its factors is, a sum where all its summands are.
  std::set<std::string> ZeroWith(const Node& node, const std::vector<Rule>& rules,
                                 const std::vector<size_t>& rows) const {
    std::set<std::string> zero;
    for (const size_t i : rows) {
      if (node.op->variadic && rows.size() > 1) break;  // linear in all inputs together, and there may be many
      if (IsLinear(node, rules, {i})) zero.insert(PartAt(node, i).zero_with.begin(), PartAt(node, i).zero_with.end());
    }
    if (rows.size() < 2 || !IsLinear(node, rules, rows)) return zero;
    for (const std::string& input : PartAt(node, rows[0]).zero_with) {
      if (std::ranges::all_of(rows, [&](size_t i) { return PartAt(node, i).zero_with.contains(input); })) {
        zero.insert(input);
      }
    }
    return zero;
  }

  bool IsMean(const Node& node) const {
    if (node.attributes.Has(kReduction)) return node.attributes.String(kReduction) == "mean";
    return node.attributes.Has(kBatch);
  }

  // Of a mean: how many numbers of each sample it is over.
  double PlacesOf(const Node& node) const {
    const bool labelled = node.op->role == Role::kLoss || node.op->role == Role::kAccuracy;
    const double read = static_cast<double>(Elements(graph_.type(node.inputs[labelled ? 1 : 0]).shape));
    const double made = static_cast<double>(Elements(graph_.type(node.outputs[0]).shape));
    return read / made / static_cast<double>(batch_);
  }

  const Graph& graph_;
  const std::function<bool(const std::string& op)>& on_numbers_;
  std::vector<ValueId> results_;  // of a step, with what it reports besides
  int64_t batch_ = 1;
  std::set<ValueId> carried_;  // states that a step changes: each sequence has rows of its own in them
  std::vector<Part> parts_;    // by value
  std::map<ValueId, int> terms_;
  std::vector<double> places_;
  SetResults set_;
};

}  // namespace

absl::StatusOr<SetResults> FindSetResults(const Model& model, const OpRegistry& registry,
                                          const std::function<bool(const std::string& op)>& on_numbers) {
  const auto analyse = [&](const Graph& graph, const std::string& entry) -> absl::StatusOr<SetResults> {
    ASSIGN_OR_RETURN(const Graph prepared, PrepareEvaluation(DropTrainingOnly(graph), registry));
    return SetAnalysis(prepared, on_numbers).Run(entry);
  };
  ASSIGN_OR_RETURN(SetResults results, analyse(model.graph, kEvaluateEntry));
  for (const ModelEntry& size : model.entries) {
    if (!size.is_size()) continue;
    const std::string entry = EntryName(kEvaluateEntry, size.name);
    ASSIGN_OR_RETURN(const SetResults other, analyse(size.graph, entry));
    if (other.terms.size() != results.terms.size() || other.reported != results.reported) {
      return Internal("entry point {}: its results have {} terms, those of the graph {}", entry, other.terms.size(),
                      results.terms.size());
    }
    results.places[entry] = other.places.at(entry);
  }
  return results;
}

}  // namespace partita
