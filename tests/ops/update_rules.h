// How every optimizer of the list updates, for the tables of tests.
#ifndef PARTITA_TESTS_OPS_UPDATE_RULES_H_
#define PARTITA_TESTS_OPS_UPDATE_RULES_H_

#include <optional>
#include <string>
#include <vector>

#include "graph/ir/op_definition.h"
#include "graph/optimizer/optimizer.h"
#include "ops/registry.h"

namespace partita {

// The phases of every optimizer, as it updates without a word, and of the ops that it uses where more is said.
inline std::vector<UpdatePhase> UpdatePhases() {
  std::vector<UpdatePhase> rules;
  const auto add = [&](const std::string& name, const Attributes& said) {
    const OptimizerDefinition& optimizer = *FindOptimizer(name, Ops().optimizers());
    const UpdateRule rule = optimizer.rule(CompleteOptimizer({name, said, 0}, Ops().optimizers())->attributes);
    if (rule.direction && said.entries().empty()) rules.push_back(*rule.direction);
    rules.push_back(rule);
  };
  for (const OptimizerDefinition& optimizer : Ops().optimizers()) add(optimizer.name, {});
  add("sgd", {{"momentum", 0.9}, {"nesterov", true}});
  add("rmsprop_torch", {{"centered", true}, {"momentum", 0.9}});
  add("lamb", {{"weight_norm_limit", 0.5}});
  add("lamb", {{"adapt", false}});
  add("lars", {{"adapt", false}, {"weight_decay", 0.1}});
  return rules;
}

inline bool IsIntegerScalar(const std::string& input) { return input == "apply" || input == "iteration"; }

inline bool IsScalarOfUpdate(const std::string& input) {
  return IsIntegerScalar(input) || input == "rate" || input == "clip" || input == "w_squares" || input == "g_squares";
}

// The types of the inputs of an update's op for a parameter of this type.
inline std::vector<std::optional<TensorType>> UpdateTypes(const std::string& op, const TensorType& parameter,
                                                          bool clipped) {
  std::vector<std::optional<TensorType>> types;
  for (const InputDefinition& input : Ops().Find(op)->inputs) {
    const TensorType scalar{IsIntegerScalar(input.name) ? DType::kI32 : parameter.dtype, {}};
    types.push_back(IsScalarOfUpdate(input.name) ? scalar : parameter);
    if (input.name == "clip" && !clipped) types.back() = std::nullopt;
  }
  return types;
}

}  // namespace partita

#endif  // PARTITA_TESTS_OPS_UPDATE_RULES_H_
