#include "tests/mutation/draw_composition.h"

#include <algorithm>
#include <map>
#include <optional>

#include "ops/registry.h"
#include "runtime/base/check.h"
#include "tests/ops/op_cases.h"

namespace partita {
namespace {

using Ints = IntList;

constexpr int64_t kMostElements = 2000;  // of a parameter that brings a value to a shape

using CasesByOp = std::map<std::string, std::vector<OpCase>>;

const CasesByOp& AllCases() {
  static const CasesByOp& all = *[] {
    auto* cases = new CasesByOp;
    for (OpCase& op_case : UserCases()) (*cases)[op_case.op].push_back(std::move(op_case));
    return cases;
  }();
  return all;
}

const OpCase& DrawCase(Dice& dice) {
  auto entry = AllCases().begin();
  std::advance(entry, dice.Below(AllCases().size()));
  return entry->second[dice.Below(entry->second.size())];
}

bool IsSource(const OpDefinition& op) { return op.is_state() || op.role == Role::kInput || op.role == Role::kConstant; }

const InputDefinition& DefinitionOf(const OpDefinition& op, size_t input) {
  return op.inputs[std::min(input, op.inputs.size() - 1)];
}

class Composition {
 public:
  explicit Composition(Dice& dice) : assembler_(Ops()), dice_(dice) {}

  // nullopt: what was drawn comes to no loss.
  std::optional<Subject> Draw() {
    const OpCase& first = DrawCase(dice_);
    for (const std::optional<CaseInput>& input : first.inputs) {
      if (!input || input->type.shape.empty()) continue;
      batch_ = input->type.shape[0];
      break;
    }
    AddOp(first);
    for (size_t more = dice_.Below(5); more > 0; --more) AddOp(DrawCase(dice_));
    return Finish();
  }

 private:
  Shape ShapeOf(const std::string& name) const { return assembler_.graph().type(assembler_.graph().Find(name)).shape; }

  // nullopt: the op refuses the node.
  std::optional<std::string> Add(const std::string& op, std::vector<std::string> inputs, Attributes attributes = {}) {
    NodeDescription node{op + std::to_string(nodes_.size()), op, std::move(inputs), std::move(attributes)};
    if (!assembler_.Add(node).ok()) return std::nullopt;
    for (const std::string& input : node.inputs) read_.insert(input);
    nodes_.push_back(node);
    return node.name;
  }

  std::string Need(const std::string& op, std::vector<std::string> inputs, Attributes attributes = {}) {
    const std::optional<std::string> added = Add(op, std::move(inputs), std::move(attributes));
    CHECK(added.has_value());
    return *added;
  }

  std::string Source(const std::string& op, const Shape& shape, const std::string& initializer, double scale) {
    return Need(op, {},
                {{"dtype", std::string("f64")}, {"shape", shape}, {"initializer", initializer}, {"scale", scale}});
  }

  std::string Field(const TensorType& type, double low, double high) {
    const std::string name = Need("input", {}, {{"dtype", std::string(Name(type.dtype))}, {"shape", type.shape}});
    ranges_[name] = {low, high};
    return name;
  }

  bool IsOfTheBatch(const Shape& shape) const { return !shape.empty() && shape[0] == batch_; }

  std::string WholeNumbers(const CaseInput& input) {
    if (IsOfTheBatch(input.type.shape)) return Field(input.type, input.low, input.high);
    const double value = input.low + static_cast<double>(dice_.Below(static_cast<size_t>(input.high - input.low)));
    return Need("constant", {},
                {{"dtype", std::string(Name(input.type.dtype))}, {"shape", input.type.shape}, {"value", value}});
  }

  // A value before, brought to `shape`: as it is, reshaped, or by a product with a parameter.
  std::optional<std::string> Brought(const Shape& shape, bool with_parameter) {
    if (trunk_.empty() || shape.empty()) return std::nullopt;
    const std::string value = dice_.Pick(trunk_);
    const Shape from = ShapeOf(value);
    if (from == shape) return value;
    if (Elements(from) == Elements(shape)) return Add("reshape", {value}, {{"shape", shape}});
    if (!with_parameter) return std::nullopt;
    const int64_t rows = !from.empty() && from[0] == shape[0] ? shape[0] : 1;
    const int64_t in = Elements(from) / rows, out = Elements(shape) / rows;
    if (in * out > kMostElements) return std::nullopt;
    const std::string flat = Need("reshape", {value}, {{"shape", Ints{rows, in}}});
    const std::string weights = Source("parameter", {in, out}, "uniform", 0.5);
    std::string product = Need("matmul", {flat, weights});
    if (dice_.OneIn(2)) product = Need("tanh", {product});
    return Need("reshape", {product}, {{"shape", shape}});
  }

  // A value of any shape that the op's gradient, if it has one, goes through.
  std::string Numbers(const CaseInput& input, const InputDefinition& definition) {
    const Shape& shape = input.type.shape;
    if (definition.updated) return Source("state", shape, "constant", input.low < 0 ? 0.1 : 1);
    const bool free = input.differentiable && !definition.constant;
    if (!definition.parameter || dice_.OneIn(4)) {
      const std::optional<std::string> brought =
          free || !definition.constant ? Brought(shape, /*with_parameter=*/free) : std::nullopt;
      if (brought && !dice_.OneIn(3)) return *brought;
    }
    if (!free || (IsOfTheBatch(shape) && !definition.parameter && dice_.OneIn(2))) {
      if (IsOfTheBatch(shape)) return Field(input.type, input.low, input.high);
      return Source("state", shape, "uniform", 0.5);
    }
    if (shape.empty()) return Need("mean", {Source("parameter", {3}, "uniform", 0.5)});
    return Source("parameter", shape, "uniform", std::max(0.5, input.high / 2));
  }

  // [low, high), where the case wants numbers above 0.
  std::string Within(const CaseInput& input, const std::string& value) {
    if (input.low < 0 || input.fill == Fill::kStatistics) return value;
    const std::string share = Need("scale", {Need("sigmoid", {value})}, {{"factor", input.high - input.low}});
    if (input.low == 0) return share;
    const std::string least =
        Need("constant", {}, {{"dtype", std::string("f64")}, {"shape", ShapeOf(value)}, {"value", input.low}});
    return Need("add", {share, least});
  }

  void AddOp(const OpCase& op_case) {
    const OpDefinition& op = *Ops().Find(op_case.op);
    std::vector<std::string> inputs;
    for (size_t i = 0; i < op_case.inputs.size(); ++i) {
      const std::optional<CaseInput>& input = op_case.inputs[i];
      const InputDefinition& definition = DefinitionOf(op, i);
      if (!input || (definition.optional && input->type.shape.empty())) {
        inputs.push_back("");
      } else if (!IsFloating(input->type.dtype)) {
        inputs.push_back(WholeNumbers(*input));
      } else {
        const std::string value = Numbers(*input, definition);
        inputs.push_back(definition.updated || definition.constant ? value : Within(*input, value));
      }
    }
    const bool differentiable =
        std::ranges::any_of(op_case.inputs, [](const auto& input) { return input && input->differentiable; });
    const std::optional<std::string> added = Add(op_case.op, inputs, op_case.attributes);
    if (!added) return;
    (differentiable ? trunk_ : ends_).push_back(*added);
  }

  std::string Scalar(const std::string& value) {
    if (ShapeOf(value).empty()) return value;
    switch (dice_.Below(3)) {
      case 0:
        return Need("mean", {value});
      case 1:
        return Need("sum", {Need("square", {value})});
      default:
        return Need("mean", {Need("tanh", {value})});
    }
  }

  // What nothing reads goes into a loss, so that all parameters are trained; what has no gradient is a metric.
  std::optional<Subject> Finish() {
    std::vector<std::string> terms;
    for (const std::string& value : std::vector<std::string>(trunk_)) {
      if (!read_.contains(value)) terms.push_back(Scalar(value));
    }
    if (terms.empty()) return std::nullopt;
    Subject subject;
    subject.model = "a composition";
    while (terms.size() > 1 && subject.further_losses.size() < 2 && dice_.OneIn(3)) {
      subject.further_losses.push_back({terms.back(), dice_.OneIn(2) ? 0.5 : 1, dice_.OneIn(4)});
      terms.pop_back();
    }
    std::vector<std::string> weighted;
    for (const std::string& term : terms) {
      const bool scaled = dice_.OneIn(2);
      weighted.push_back(scaled ? Need("scale", {term}, {{"factor", dice_.OneIn(2) ? 0.1 : -0.5}}) : term);
      if (dice_.OneIn(2)) subject.metrics.push_back(term);
    }
    subject.loss = weighted.size() == 1 ? weighted[0] : Need("add", weighted);
    for (const std::string& end : ends_) subject.metrics.push_back(Scalar(end));
    std::erase(subject.metrics, subject.loss);
    KeepWhatIsNeeded(subject);
    DrawTraining(subject);
    return subject;
  }

  void KeepWhatIsNeeded(Subject& subject) {
    std::set<std::string> needed(subject.metrics.begin(), subject.metrics.end());
    needed.insert(subject.loss);
    for (const FurtherLossDescription& further : subject.further_losses) needed.insert(further.value);
    for (auto node = nodes_.rbegin(); node != nodes_.rend(); ++node) {
      if (!needed.contains(node->name)) continue;
      needed.insert(node->inputs.begin(), node->inputs.end());
      subject.nodes.insert(subject.nodes.begin(), *node);
      const auto range = ranges_.find(node->name);
      if (range != ranges_.end()) subject.ranges.insert(*range);
    }
  }

  void DrawTraining(Subject& subject) {
    const OptimizerDefinition& optimizer = dice_.Pick(Ops().optimizers());
    subject.optimizer.name = optimizer.name;
    for (const AttributeDefinition& attribute : optimizer.attributes) {
      if (attribute.name == "momentum" && dice_.OneIn(2)) subject.optimizer.attributes.Set("momentum", 0.9);
      if (attribute.name == "weight_decay" && dice_.OneIn(2)) subject.optimizer.attributes.Set("weight_decay", 0.01);
      if (attribute.name == "adapt" && dice_.OneIn(4)) subject.optimizer.attributes.Set("adapt", false);
    }
    subject.optimizer.clip_norm = dice_.OneIn(3) ? 0.1 : 0;
    subject.learning_rate.base = 0.01;
  }

  GraphAssembler assembler_;
  Dice& dice_;
  int64_t batch_ = 1;
  std::vector<NodeDescription> nodes_;
  std::vector<std::string> trunk_, ends_;  // results of cases: those that a gradient goes through, and others
  std::set<std::string> read_;
  std::map<std::string, std::pair<double, double>> ranges_;
};

}  // namespace

std::set<std::string> OpsWithoutCase() {
  std::set<std::string> missing;
  for (const std::string& name : Ops().Names()) {
    const OpDefinition& op = *Ops().Find(name);
    if (op.user && !IsSource(op) && !AllCases().contains(name)) missing.insert(name);
  }
  return missing;
}

Subject DrawComposition(Dice& dice) {
  while (true) {
    std::optional<Subject> subject = Composition(dice).Draw();
    if (subject && GraphOf(*subject).ok()) return *std::move(subject);
  }
}

}  // namespace partita
