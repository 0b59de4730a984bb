#include "graph/ir/op_definition.h"

#include "runtime/base/check.h"

namespace partita {
const AttributeDefinition* OpDefinition::FindAttribute(const std::string& attribute) const {
  for (const AttributeDefinition& definition : attributes) {
    if (definition.name == attribute) return &definition;
  }
  return nullptr;
}

OpRegistry::OpRegistry(std::vector<OpDefinition> definitions, std::vector<Fusion> fusions, Optimizers optimizers)
    : fusions_(std::move(fusions)), optimizers_(std::move(optimizers)) {
  for (OpDefinition& definition : definitions) {
    const std::string name = definition.name;
    CHECK(definitions_.emplace(name, std::move(definition)).second);
  }
}

const OpDefinition* OpRegistry::Find(const std::string& name) const {
  auto found = definitions_.find(name);
  return found == definitions_.end() ? nullptr : &found->second;
}

template <typename Wanted>
const OpDefinition& OpRegistry::Only(const Wanted& wanted) const {
  const OpDefinition* only = nullptr;
  for (const auto& [name, definition] : definitions_) {
    if (!wanted(definition)) continue;
    CHECK(only == nullptr);
    only = &definition;
  }
  CHECK(only != nullptr);
  return *only;
}

const OpDefinition& OpRegistry::Get(Role role) const {
  return Only([role](const OpDefinition& op) { return op.role == role; });
}

const OpDefinition& OpRegistry::Get(MoveKind move) const {
  return Only([move](const OpDefinition& op) { return op.move == move; });
}

std::vector<std::string> OpRegistry::Names() const {
  std::vector<std::string> names;
  for (const auto& [name, definition] : definitions_) names.push_back(name);
  return names;
}

absl::StatusOr<Attributes> CompleteAttributes(const OpDefinition& op, const Attributes& given) {
  return CompleteAttributes("op", op.name, op.attributes, given);
}

}  // namespace partita
