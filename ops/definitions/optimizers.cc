// The optimizers, and the ops by which they update parameters, made from the list of updates.
//   w', slots'... = update(w, g, slots..., rate, apply?, clip?, iteration if it counts steps, norms if it reads them)
// All tensors are split alike; the outputs take the places of w and the slots, and are what these were if apply is 0. A
// direction takes the place of g, not of w. Norms are two scalars, w_squares and g_squares.
#include <functional>
#include <utility>

#include "ops/definitions/definitions.h"
#include "ops/forms/op_builder.h"
#include "ops/forms/op_checks.h"
#include "ops/forms/op_rules.h"
#include "ops/functors/updates/row_updates.h"
#include "ops/functors/updates/updates.h"
#include "ops/values/update_attributes.h"
#include "runtime/base/status.h"

namespace partita {
namespace {

struct Number {
  AttributeDefinition definition;
  double least, below;
};

// What an update says of itself.
struct Description {
  std::string name;
  bool is_optimizer, is_direction, counts_steps, reads_rate, reads_norms, is_trained;
  double flops;
  std::vector<Slot> slots = {};
  std::vector<std::string> initial_attributes = {};  // of each slot; "": it begins as it says itself
  std::vector<Number> numbers = {};
  std::function<absl::Status(const Attributes&)> check = {};  // of numbers that are in range each
};

Attribute ValueOf(double number, bool is_flag) {
  if (is_flag) return number != 0;
  return number;
}

template <typename F>
constexpr bool IsTrained() {
  if constexpr (requires { F::kIsTrained; }) return F::kIsTrained;
  return true;
}

template <typename F>
constexpr bool ReadsRate() {
  if constexpr (requires { F::kReadsRate; }) return F::kReadsRate;
  return true;
}

template <typename F>
constexpr bool IsDirection() {
  if constexpr (requires { F::kIsDirection; }) return F::kIsDirection;
  return false;
}

template <typename F>
absl::Status CheckTogether(const Attributes& attributes) {
  const F update = UpdateOf<F>(attributes);
  if constexpr (requires { update.Fault(); }) {
    const char* const fault = update.Fault();
    if (fault != nullptr) return absl::InvalidArgumentError(fault);
  } else if constexpr (requires { update.epsilon; }) {
    // 0 would be divided by 0 where a gradient is 0.
    if (static_cast<float>(update.epsilon) > 0) return absl::OkStatus();
    return InvalidArgument("optimizer.epsilon is {}; expected a number above 0, also in f32", update.epsilon);
  }
  return absl::OkStatus();
}

template <typename F>
Description Describe() {
  Description update{.name = F::kName,
                     .is_optimizer = F::kIsOptimizer,
                     .is_direction = IsDirection<F>(),
                     .counts_steps = F::kCountsSteps,
                     .reads_rate = ReadsRate<F>(),
                     .reads_norms = ReadsNorms<F>,
                     .is_trained = IsTrained<F>() && !IsDirection<F>(),
                     .flops = F::kFlops,
                     .check = CheckTogether<F>};
  for (const UpdateSlot& slot : F::kSlots) {
    update.slots.push_back({slot.name, slot.initial});
    update.initial_attributes.emplace_back(slot.initial_attribute == nullptr ? "" : slot.initial_attribute);
  }
  for (const UpdateAttribute<F>& a : F::kAttributes) {
    update.numbers.push_back({{a.name, ValueOf(a.value, a.is_flag)}, a.least, a.below});
  }
  return update;
}

std::vector<Description> Updates() {
  std::vector<Description> updates;
#define PARTITA_DESCRIBE(F) updates.push_back(Describe<F>());
  PARTITA_UPDATES(PARTITA_DESCRIBE)
#undef PARTITA_DESCRIBE
  return updates;
}

bool IsFlag(const Number& number) { return std::holds_alternative<bool>(number.definition.type_and_default); }

ShapeFunction UpdateShape(const Description& update) {
  return [update](const NodeView& node) -> absl::StatusOr<std::vector<TensorType>> {
    RETURN_IF_ERROR(CheckFloating(node, 0, "w"));
    std::vector<std::string> tensors = {"g"};
    for (const Slot& slot : update.slots) tensors.push_back(slot.name);
    int input = 1;
    for (const std::string& name : tensors) {
      RETURN_IF_ERROR(CheckLike(node, input++, name, node.inputs[0]->shape, "the same as w"));
    }
    RETURN_IF_ERROR(CheckLike(node, input++, "rate", {}, "a scalar"));
    RETURN_IF_ERROR(CheckApply(node, input++));
    RETURN_IF_ERROR(CheckLike(node, input++, "clip", {}, "a scalar"));
    if (update.counts_steps) {
      RETURN_IF_ERROR(CheckDType(node, input, "iteration", DType::kI32));
      RETURN_IF_ERROR(CheckShape(node, input++, "iteration", {}, "a scalar"));
    }
    if (update.reads_norms) {
      RETURN_IF_ERROR(CheckLike(node, input++, "w_squares", {}, "a scalar"));
      RETURN_IF_ERROR(CheckLike(node, input++, "g_squares", {}, "a scalar"));
    }
    for (const Number& number : update.numbers) {
      if (IsFlag(number)) continue;
      RETURN_IF_ERROR(CheckNumber(node.attributes, number.definition.name, number.least, number.below));
    }
    RETURN_IF_ERROR(CheckNumber(node.attributes, kRateFactor, 0));
    return std::vector<TensorType>(1 + update.slots.size(), *node.inputs[0]);
  };
}

RulesFunction UpdateRules(size_t tensors, size_t inputs, size_t outputs) {
  std::vector<bool> follows(inputs, false);
  std::fill_n(follows.begin(), tensors, true);
  return [=](const NodeView& node) {
    std::vector<Rule> rules =
        EveryDimension(static_cast<int>(node.inputs[0]->shape.size()), follows, static_cast<int>(outputs));
    for (size_t d = 0; d < rules.size(); ++d) rules[d].name = fmt::format("dimension{}", d);
    return rules;
  };
}

OpDefinition UpdateOp(const Description& update) {
  const int slots = static_cast<int>(update.slots.size()), tensors = 2 + slots;
  Op op(update.name);
  op.Internal().Inputs({"w", "g"}).Outputs(1 + slots).InPlace(update.is_direction ? 1 : 0, 0);
  for (int s = 0; s < slots; ++s) op.Inputs({update.slots[s].name}).InPlace(2 + s, 1 + s);
  update.reads_rate ? op.Inputs({"rate"}) : op.Optional("rate");
  op.Gate("apply").Optional("clip");
  std::vector<int> shared = {tensors, tensors + 1};  // clip may be that of a group
  if (update.counts_steps) {
    op.Inputs({"iteration"});
    shared.push_back(tensors + 3);
  }
  const size_t scalars = 1 + shared.size() + (update.reads_norms ? 2 : 0);
  if (update.reads_norms) op.Inputs({"w_squares", "g_squares"});
  op.Attribute(kRateFactor, 1.0);
  for (const Number& number : update.numbers) op.Attribute(number.definition.name, number.definition.type_and_default);
  return op.Shape(UpdateShape(update))
      .Rules(UpdateRules(tensors, tensors + scalars, 1 + update.slots.size()))
      .Flops([flops = update.flops](const NodeView& node) { return flops * Count(node.inputs[0]->shape); })
      .Together(shared)
      .MembersDiffer()
      .TakesBf16(1)
      .Rounds(update.is_trained ? 0 : -1);
}

// An optimizer that updates by this op alone.
OptimizerDefinition OptimizerOf(const Description& update) {
  OptimizerDefinition optimizer{update.name, {}, {}, {}};
  for (const Number& number : update.numbers) optimizer.attributes.push_back(number.definition);
  optimizer.check = [update](const Attributes& attributes) -> absl::Status {
    for (const Number& number : update.numbers) {
      if (IsFlag(number)) continue;
      const std::string& name = number.definition.name;
      RETURN_IF_ERROR(CheckRange("optimizer." + name, attributes.Float(name), number.least, number.below));
    }
    return update.check(attributes);
  };
  optimizer.rule = [update](const Attributes& attributes) {
    UpdateRule rule{{update.name, attributes, update.slots}};
    for (size_t s = 0; s < rule.slots.size(); ++s) {
      const std::string& said = update.initial_attributes[s];
      if (!said.empty()) rule.slots[s].initial = attributes.Float(said);
    }
    return rule;
  };
  return optimizer;
}

// Without momentum it needs no slot.
OptimizerDefinition SgdOptimizer() {
  OptimizerDefinition optimizer = OptimizerOf(Describe<SgdMomentum>());
  optimizer.name = Sgd::kName;
  optimizer.rule = [with_momentum = std::move(optimizer.rule)](const Attributes& attributes) {
    if (attributes.Float("momentum") > 0) return with_momentum(attributes);
    return UpdateRule{{Sgd::kName, {{"weight_decay", attributes.Float("weight_decay")}}, {}}};
  };
  return optimizer;
}

// Without being centered it needs a slot less.
OptimizerDefinition RmsPropTorchOptimizer() {
  OptimizerDefinition optimizer = OptimizerOf(Describe<RmsPropTorch>());
  optimizer.attributes.push_back({"centered", false});
  optimizer.rule = [plain = std::move(optimizer.rule),
                    centered = OptimizerOf(Describe<RmsPropTorchCentered>()).rule](const Attributes& said) {
    Attributes attributes = said;
    attributes.Remove("centered");
    return said.Bool("centered") ? centered(attributes) : plain(attributes);
  };
  return optimizer;
}

// The attributes of `all` that `definition` knows.
Attributes KnownTo(const OptimizerDefinition& definition, const Attributes& all) {
  Attributes known;
  for (const AttributeDefinition& attribute : definition.attributes) {
    known.Set(attribute.name, *all.Find(attribute.name));
  }
  return known;
}

// An optimizer in two phases has the attributes of both.
OptimizerDefinition InTwoPhases(const OptimizerDefinition& direction, const OptimizerDefinition& apply) {
  OptimizerDefinition optimizer = apply;
  optimizer.attributes.insert(optimizer.attributes.begin(), direction.attributes.begin(), direction.attributes.end());
  optimizer.check = [=](const Attributes& attributes) -> absl::Status {
    RETURN_IF_ERROR(direction.check(KnownTo(direction, attributes)));
    return apply.check(KnownTo(apply, attributes));
  };
  optimizer.rule = [=](const Attributes& attributes) {
    UpdateRule rule = apply.rule(KnownTo(apply, attributes));
    rule.direction = direction.rule(KnownTo(direction, attributes));
    return rule;
  };
  return optimizer;
}

template <typename F>
OptimizerDefinition OptimizerWith() {
  if constexpr (HasDirection<F>) {
    return InTwoPhases(OptimizerOf(Describe<typename F::Direction>()), OptimizerOf(Describe<F>()));
  } else {
    return OptimizerOf(Describe<F>());
  }
}

OptimizerDefinition WithRowForm(OptimizerDefinition optimizer) {
  optimizer.rule = [whole = std::move(optimizer.rule)](const Attributes& attributes) {
    UpdateRule rule = whole(attributes);
    rule.op_of_rows = RowUpdateOf(rule.op);
    return rule;
  };
  return optimizer;
}

}  // namespace

std::vector<OpDefinition> UpdateOps() {
  std::vector<OpDefinition> definitions;
  for (const Description& update : Updates()) definitions.push_back(UpdateOp(update));
  return definitions;
}

Optimizers AllOptimizers() {
  Optimizers optimizers = {SgdOptimizer(), RmsPropTorchOptimizer()};
#define PARTITA_OPTIMIZER(F) \
  if (F::kIsOptimizer) optimizers.push_back(OptimizerWith<F>());
  PARTITA_UPDATES(PARTITA_OPTIMIZER)
#undef PARTITA_OPTIMIZER
  for (OptimizerDefinition& optimizer : optimizers) optimizer = WithRowForm(std::move(optimizer));
  return optimizers;
}

}  // namespace partita
