// How every optimizer of the list updates, for the tables of tests.
#ifndef PARTITA_TESTS_OPS_UPDATE_RULES_H_
#define PARTITA_TESTS_OPS_UPDATE_RULES_H_

#include <string>
#include <vector>

#include "graph/ir/op_definition.h"
#include "graph/optimizer/optimizer.h"
#include "ops/registry.h"

namespace partita {

// Of every optimizer, as it updates without a word, and of the ops that it uses where more is said.
inline std::vector<UpdateRule> UpdateRules() {
  std::vector<UpdateRule> rules;
  const auto add = [&](const std::string& name, const Attributes& said) {
    const OptimizerDefinition& optimizer = *FindOptimizer(name, Ops().optimizers());
    rules.push_back(optimizer.rule(CompleteOptimizer({name, said, 0}, Ops().optimizers())->attributes));
  };
  for (const OptimizerDefinition& optimizer : Ops().optimizers()) add(optimizer.name, {});
  add("sgd", {{"momentum", 0.9}, {"nesterov", true}});
  add("rmsprop_torch", {{"centered", true}, {"momentum", 0.9}});
  return rules;
}

}  // namespace partita

#endif  // PARTITA_TESTS_OPS_UPDATE_RULES_H_
